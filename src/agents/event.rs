//! What hooks of agents say, in one shape for all of them.
//!
//! Everything here that is a text is outside text.

use serde_json::{Map, Value};

/// What the body of a hook says.
#[derive(Debug, Clone, PartialEq)]
pub enum GateEvent {
    /// It asks whether a call may run, and waits for the answer.
    Ask(AgentCall),
    /// It reports how a call ended.
    Report(AgentReport),
    /// It reports where the session stands.
    Turn(AgentTurn),
}

/// The hook that asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AskEvent {
    /// Before a call, of Claude Code and Codex.
    PreToolUse,
    /// In place of a question to the person at the terminal, of Claude Code and Codex.
    PermissionRequest,
    /// Before a call, of Gemini CLI.
    BeforeTool,
}

impl AskEvent {
    /// Its name in `hook_event_name`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PreToolUse => "PreToolUse",
            Self::PermissionRequest => "PermissionRequest",
            Self::BeforeTool => "BeforeTool",
        }
    }
}

/// A call that an agent wants to make.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentCall {
    /// The agent's own id of its session; 1 to 256 bytes.
    pub session: String,
    /// Where the agent works; absolute. It need not exist on this machine.
    pub directory: String,
    /// The agent's own name of the tool; 1 to 120 letters, digits and `_ - . : /`.
    pub tool: String,
    /// The arguments as the agent has them, at most 64 levels deep.
    pub input: Map<String, Value>,
    /// The agent's own id of the call, where the hook has one.
    pub call: Option<String>,
    /// The agent's own id of its turn, where the hook has one.
    pub prompt: Option<String>,
    /// The agent's own word for what it asks and what it runs unasked.
    pub mode: Option<String>,
    /// The subagent that makes the call: its type, its id, or both.
    pub agent: Option<String>,
    /// Why the agent asks its own person, in its words: it wants more than its own limits allow. None = it asks before
    /// each call.
    pub own_question: Option<String>,
    /// The hook that asks.
    pub event: AskEvent,
}

/// How a call ended, as the agent says.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentReport {
    /// The agent's own id of its session.
    pub session: String,
    /// Where the agent works.
    pub directory: String,
    /// The agent's own name of the tool.
    pub tool: String,
    /// The arguments it ran with, as the agent says.
    pub input: Map<String, Value>,
    /// The agent's own id of the call, where the hook has one.
    pub call: Option<String>,
    /// The agent's own id of its turn, where the hook has one.
    pub prompt: Option<String>,
    /// The subagent that made the call.
    pub agent: Option<String>,
    /// What came of it, at most 64 KiB.
    pub result: String,
    /// Whether the agent calls it a failure.
    pub is_error: bool,
}

/// Where a session of an agent stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentTurn {
    /// The agent's own id of its session.
    pub session: String,
    /// Where the agent works.
    pub directory: String,
    /// The agent's own id of its turn, where the hook has one.
    pub prompt: Option<String>,
    /// The subagent it is about; of [`TurnChange::SubagentStop`] the one that ended.
    pub agent: Option<String>,
    /// What changed.
    pub change: TurnChange,
}

/// What changed in a session of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnChange {
    /// It began, or goes on after an end.
    SessionStart,
    /// A turn begins: a person wrote to it, or the agent did.
    Prompt,
    /// Its turn ended: none of its own calls waits any more. Those of a subagent may.
    Stop,
    /// A subagent ended: none of the calls of that one waits any more.
    SubagentStop,
    /// It ended.
    SessionEnd,
    /// Nothing that matters here.
    Notice,
}

/// What a hook that asks is told.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// The call may run. `input` are other arguments, for hooks that take such ([`crate::agents::accepts_edits`]).
    Allow {
        /// Other arguments, complete; none = those of the call.
        input: Option<Map<String, Value>>,
    },
    /// The call must not run.
    Deny {
        /// Why, for the agent.
        reason: String,
    },
    /// The agent ends and asks again later, for hooks that know this ([`crate::agents::knows_defer`]).
    Defer,
}

/// A body that is not understood. Nothing of it is let through.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{field}`: {problem}")]
pub struct GateProblem {
    /// The field of the body; `body` = the whole.
    pub field: &'static str,
    /// What is wrong, and what was expected.
    pub problem: String,
}
