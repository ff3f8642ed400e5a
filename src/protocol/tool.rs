//! Tools that agents can call, and figures about their calls.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::clock::Timestamp;
use crate::protocol::enums::{Access, Effect, InterpreterKind, InterpreterState};
use crate::protocol::ids::SessionId;

/// Number of newest calls of all tools from which the figures come.
pub const COUNTED_CALLS: u64 = 10_000;

/// A tool with figures about its calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tool {
    /// Name for models.
    pub name: String,
    /// Origin: `built-in`, `http` and the host of a tool in the configuration, or `mcp` and the
    /// name of a tool server.
    pub source: String,
    /// Description for models.
    pub description: String,
    /// The most that a call can touch.
    pub access: Access,
    /// What recovery may assume about a call that a crash interrupted.
    pub effect: Effect,
    /// Time limit of a call, in seconds.
    pub max_seconds: u64,
    /// How many seconds the cache may return a result; none = each call runs.
    pub cache_seconds: Option<u64>,
    /// Number of its calls among the newest 10 000 calls of all tools.
    pub calls: u64,
    /// Number of these that failed, or whose outcome is unknown.
    pub errors: u64,
    /// Number of these that policy or a person denied.
    pub denied: u64,
    /// Median run time in milliseconds; none = none ran.
    pub p50_ms: Option<u64>,
    /// When it was last called; none = not among these calls.
    pub last_call_at: Option<Timestamp>,
}

/// A tool in the form that agents get.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolDefinition {
    /// Name for models.
    pub name: String,
    /// Origin, as in [`Tool::source`].
    pub source: String,
    /// When to use it.
    pub description: String,
    /// JSON Schema of the arguments.
    pub input_schema: Value,
    /// The most that a call can touch.
    pub access: Access,
    /// What recovery may assume about a call that a crash interrupted.
    pub effect: Effect,
}

/// An interpreter that a session keeps between the calls of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Interpreter {
    /// Session of the interpreter. A session has at most one of each kind.
    pub session_id: SessionId,
    /// Kind of the interpreter.
    pub kind: InterpreterKind,
    /// Whether it is running a command.
    pub state: InterpreterState,
    /// When it was started.
    pub started_at: Timestamp,
    /// When its last command began or ended.
    pub last_used_at: Timestamp,
    /// Number of commands so far, including a running one.
    pub commands: u64,
    /// When the running command began; none = no command runs.
    pub running_since: Option<Timestamp>,
    /// Beginning of the running or last command; none = there was none yet.
    pub command: Option<String>,
    /// Process id of its topmost process; none = it has just ended.
    pub pid: Option<u32>,
    /// Number of background processes after its last command.
    #[serde(default)]
    pub background: u64,
    /// Its newest commands, oldest first; at most 20.
    #[serde(default)]
    pub recent: Vec<InterpreterCommand>,
}

/// A command of an interpreter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InterpreterCommand {
    /// When it began.
    pub at: Timestamp,
    /// Whether a person ran it; false = a model did.
    pub by_person: bool,
    /// Beginning of the command.
    pub command: String,
    /// How it ended, in words; none = it is running.
    pub outcome: Option<String>,
}

/// A command for the shell of a session, or code for its Python.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShellRequest {
    /// The command or code; at most 256 KiB.
    pub command: String,
    /// The interpreter; default: the shell.
    #[serde(default)]
    pub kind: InterpreterKind,
    /// Seconds until the engine stops it, 1 to 900; default 60.
    #[serde(default)]
    pub timeout_seconds: Option<u64>,
}

/// Result of a person's command in the shell or Python of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ShellRun {
    /// Session id.
    pub session_id: SessionId,
    /// Label of who ran it.
    pub by: String,
    /// When it began.
    pub at: Timestamp,
    /// The output, at most 1 MiB, redacted. The first line without brackets tells how the command
    /// ended.
    pub content: String,
    /// Whether it failed or did not run to its end.
    pub is_error: bool,
    /// Duration in milliseconds.
    pub duration_ms: u64,
}
