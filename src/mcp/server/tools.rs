//! The tools that callers get: nine for sessions, and the built-in ones under their own names.

use std::sync::Arc;

use rmcp::model::{Tool, ToolAnnotations};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::mcp::server::schema::{input, output};
use crate::mcp::server::views::{AcceptedView, CancelView, SessionList, SessionView, TurnView};
use crate::protocol::enums::{Access, Effect};
use crate::protocol::ids::ContinuationId;
use crate::protocol::mcp::FIND_TOOLS;
use crate::protocol::request::{
    Ask, CancelContinuation, EndSession, GetSession, ListSessions, ResumeContinuation, SendMessage,
    StartSession,
};
use crate::protocol::tool::ToolDefinition;

/// A tool for sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionTool {
    /// `ask`.
    Ask,
    /// `await_continuation`.
    AwaitContinuation,
    /// `cancel`.
    Cancel,
    /// `end_session`.
    EndSession,
    /// `get_session`.
    GetSession,
    /// `list_sessions`.
    ListSessions,
    /// `resume`.
    Resume,
    /// `send_message`.
    SendMessage,
    /// `start_session`.
    StartSession,
}

/// Arguments of tools that a caller can repeat with the same key.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Keyed {
    /// A repeated call with the same key returns the result of the first one; 1 to 255 bytes.
    #[serde(default)]
    pub idempotency_key: Option<String>,
}

/// Arguments beside the fields of the request: none.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Nothing {}

/// Arguments of `await_continuation`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct AwaitArguments {
    /// Continuation id.
    pub continuation_id: ContinuationId,
    /// Milliseconds to wait, default 25 000; a value above 55 000 counts as 55 000.
    #[serde(default)]
    pub timeout_ms: Option<u64>,
}

impl SessionTool {
    /// All of them, by name.
    pub const ALL: [Self; 9] = [
        Self::Ask,
        Self::AwaitContinuation,
        Self::Cancel,
        Self::EndSession,
        Self::GetSession,
        Self::ListSessions,
        Self::Resume,
        Self::SendMessage,
        Self::StartSession,
    ];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::AwaitContinuation => "await_continuation",
            Self::Cancel => "cancel",
            Self::EndSession => "end_session",
            Self::GetSession => "get_session",
            Self::ListSessions => "list_sessions",
            Self::Resume => "resume",
            Self::SendMessage => "send_message",
            Self::StartSession => "start_session",
        }
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    const fn description(self) -> &'static str {
        match self {
            Self::Ask => {
                "Ask an agent one question in a new session. Waits up to 55 s for the answer; then await_continuation \
                 continues the wait."
            }
            Self::AwaitContinuation => {
                "Wait for the end of a turn and get its answer. The turn goes on when the wait ends first."
            }
            Self::Cancel => "Cancel a turn that has not ended and kill its tools.",
            Self::EndSession => "End one of your sessions and cancel its open turns.",
            Self::GetSession => "Get one of your sessions: its state and open turn.",
            Self::ListSessions => "List your sessions, newest change first.",
            Self::Resume => "Continue an interrupted turn. Waits up to 55 s for its answer.",
            Self::SendMessage => {
                "Send a message to the agent of a session; returns at once. A session has one open turn at a time."
            }
            Self::StartSession => "Open a session with an agent, which remembers the conversation.",
        }
    }

    /// What it takes.
    pub fn input(self) -> Map<String, Value> {
        match self {
            Self::Ask => {
                input::<Ask, Keyed>(&["channel", "conversation", "attachments", "options"], None)
            }
            Self::AwaitContinuation => input::<AwaitArguments, Nothing>(&[], None),
            Self::Cancel => input::<CancelContinuation, Nothing>(&[], None),
            Self::EndSession => input::<EndSession, Nothing>(&[], None),
            Self::GetSession => input::<GetSession, Nothing>(&[], Some(("id", "session_id"))),
            Self::ListSessions => input::<ListSessions, Nothing>(&["channel", "prefix"], None),
            Self::Resume => input::<ResumeContinuation, Nothing>(&[], None),
            Self::SendMessage => input::<SendMessage, Keyed>(&["attachments", "options"], None),
            Self::StartSession => input::<StartSession, Keyed>(&["channel", "conversation"], None),
        }
    }

    fn output(self) -> Map<String, Value> {
        match self {
            Self::Ask | Self::AwaitContinuation | Self::Resume => output::<TurnView>(),
            Self::Cancel => output::<CancelView>(),
            Self::EndSession | Self::GetSession | Self::StartSession => output::<SessionView>(),
            Self::ListSessions => output::<SessionList>(),
            Self::SendMessage => output::<AcceptedView>(),
        }
    }

    fn annotations(self) -> ToolAnnotations {
        let hints = ToolAnnotations::new();
        match self {
            Self::AwaitContinuation | Self::GetSession | Self::ListSessions => {
                hints.read_only(true).open_world(false)
            }
            Self::Cancel | Self::EndSession => hints
                .read_only(false)
                .destructive(true)
                .idempotent(true)
                .open_world(false),
            Self::StartSession => hints
                .read_only(false)
                .destructive(false)
                .idempotent(false)
                .open_world(false),
            // An agent can do whatever its tools can.
            Self::Ask | Self::SendMessage | Self::Resume => hints
                .read_only(false)
                .destructive(true)
                .idempotent(false)
                .open_world(true),
        }
    }

    /// As callers get it.
    pub fn definition(self) -> Tool {
        Tool::new(self.name(), self.description(), Arc::new(self.input()))
            .with_raw_output_schema(Arc::new(self.output()))
            .with_annotations(self.annotations())
    }
}

/// Whether callers get a tool of the engine under its own name. Which tools of other servers the channel has is decided
/// there.
pub fn is_passed_on(tool: &ToolDefinition) -> bool {
    tool.name != FIND_TOOLS && SessionTool::named(&tool.name).is_none()
}

/// A tool of the engine as callers get it.
pub fn direct(tool: ToolDefinition) -> Tool {
    let schema = match tool.input_schema {
        Value::Object(schema) => schema,
        _ => Map::new(),
    };
    let hints = ToolAnnotations::new();
    let hints = match tool.access {
        Access::ReadLocal => hints.read_only(true).open_world(false),
        Access::ReadOpen => hints.read_only(true).open_world(true),
        Access::WriteAdditive => hints.read_only(false).destructive(false).open_world(false),
        Access::Write => hints.read_only(false).destructive(true).open_world(false),
        Access::Exec | Access::Send | Access::Unknown => {
            hints.read_only(false).destructive(true).open_world(true)
        }
    };
    let again = match tool.effect {
        Effect::ReadOnly | Effect::Idempotent => true,
        Effect::Keyed | Effect::Reconcilable | Effect::NonIdempotent => false,
    };
    Tool::new(tool.name, tool.description, Arc::new(schema))
        .with_annotations(hints.idempotent(again))
}
