//! The tools that agents can call, and how their calls went.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::clock::Timestamp;
use crate::protocol::enums::{Access, Effect, InterpreterKind, InterpreterState};
use crate::protocol::ids::SessionId;

/// Calls that the figures of a tool are taken from: the newest of all tools.
pub const COUNTED_CALLS: u64 = 10_000;

/// A tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tool {
    /// Its name, as models call it.
    pub name: String,
    /// Where it comes from: `built-in`, `http` and the host of a tool that the configuration declares, or `mcp` and the
    /// name of a tool server.
    pub source: String,
    /// What models read about it.
    pub description: String,
    /// The most that a call of it can touch.
    pub access: Access,
    /// What recovery may assume about a call that a crash interrupted.
    pub effect: Effect,
    /// Seconds after which a call of it is stopped.
    pub max_seconds: u64,
    /// Seconds for which a result may be given again; none = each call runs.
    pub cache_seconds: Option<u64>,
    /// Its calls among the newest 10 000 calls of all tools.
    pub calls: u64,
    /// Those of them that failed, or whose outcome nobody knows.
    pub errors: u64,
    /// Those of them that policy or a person denied.
    pub denied: u64,
    /// Median run time of those that ran, in milliseconds; none = none ran.
    pub p50_ms: Option<u64>,
    /// When it was called last; none = not among these calls.
    pub last_call_at: Option<Timestamp>,
}

/// A tool as agents get it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolDefinition {
    /// Its name.
    pub name: String,
    /// Where it comes from, as [`Tool::source`].
    pub source: String,
    /// When to use it.
    pub description: String,
    /// JSON Schema of its arguments.
    pub input_schema: Value,
    /// The most that a call of it can touch.
    pub access: Access,
    /// What recovery may assume about a call that a crash interrupted.
    pub effect: Effect,
}

/// What a session keeps running between the calls of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Interpreter {
    /// Whose it is. A session has at most one of a kind.
    pub session_id: SessionId,
    /// Which.
    pub kind: InterpreterKind,
    /// Whether it runs a command.
    pub state: InterpreterState,
    /// When it was started.
    pub started_at: Timestamp,
    /// When its last command began or ended.
    pub last_used_at: Timestamp,
    /// Commands it was given, the one that runs included.
    pub commands: u64,
    /// When the command began that runs; none = none runs.
    pub running_since: Option<Timestamp>,
    /// Beginning of the command that runs, or that ran last; none = none yet.
    pub command: Option<String>,
    /// Process above everything that belongs to it; none = it has just ended.
    pub pid: Option<u32>,
    /// Processes that ran on in the background when its last command ended.
    #[serde(default)]
    pub background: u64,
    /// Its newest commands, the oldest first; at most 20.
    #[serde(default)]
    pub recent: Vec<InterpreterCommand>,
}

/// A command that an interpreter was given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InterpreterCommand {
    /// When it began.
    pub at: Timestamp,
    /// Whether a person gave it, and no model.
    pub by_person: bool,
    /// Its beginning.
    pub command: String,
    /// How it ended, in words; none = it runs.
    pub outcome: Option<String>,
}

/// A command for the shell of a session, or code for its Python.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShellRequest {
    /// What runs; at most 256 KiB.
    pub command: String,
    /// What runs it: the shell where it is left out.
    #[serde(default)]
    pub kind: InterpreterKind,
    /// Seconds after which it is stopped, 1 to 900; none = 60.
    #[serde(default)]
    pub timeout_seconds: Option<u64>,
}

/// What a person ran in the shell of a session, or in its Python.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ShellRun {
    /// Whose shell.
    pub session_id: SessionId,
    /// Who ran it.
    pub by: String,
    /// When it began.
    pub at: Timestamp,
    /// How it ended on the first line that has no brackets, then what it wrote; at most 1 MiB, redacted.
    pub content: String,
    /// Whether it failed, or did not run to its end.
    pub is_error: bool,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
}
