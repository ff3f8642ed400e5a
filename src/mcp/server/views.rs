//! What callers read of sessions and turns. Nothing here tells of an approval, of a policy, or of who decides.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::protocol::enums::{ContinuationState, SessionState, ToolCallState};
use crate::protocol::ids::{ContinuationId, SessionId};
use crate::protocol::session::{Continuation, ErrorBody, Session, Usage};

/// State of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TurnStatus {
    /// It waits for its start, or runs.
    Running,
    /// An operator must decide something; then the turn goes on by itself. MCP callers cannot decide.
    WaitsForApproval,
    /// It was interrupted, and goes on after `resume`.
    Interrupted,
    /// It ended with an answer.
    Completed,
    /// It ended without an answer.
    Failed,
    /// A person cancelled it.
    Cancelled,
    /// It ended because no operator decided before the deadline.
    Expired,
}

impl TurnStatus {
    /// Of a state of the engine.
    pub fn of(state: ContinuationState) -> Self {
        match state {
            ContinuationState::Pending
            | ContinuationState::Running
            | ContinuationState::Streaming => Self::Running,
            ContinuationState::AwaitingApproval => Self::WaitsForApproval,
            ContinuationState::Interrupted => Self::Interrupted,
            ContinuationState::Completed => Self::Completed,
            ContinuationState::Failed => Self::Failed,
            ContinuationState::Cancelled => Self::Cancelled,
            ContinuationState::Expired => Self::Expired,
        }
    }

    /// The state in a sentence for the caller.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Running => "It is still running; await_continuation waits for its end.",
            Self::WaitsForApproval => {
                "It waits for an operator's approval. It goes on by itself once an operator has decided; \
                 await_continuation waits for that."
            }
            Self::Interrupted => "It was interrupted; resume continues it.",
            Self::Completed => "It is completed.",
            Self::Failed => "It failed.",
            Self::Cancelled => "It was cancelled.",
            Self::Expired => "It expired: no operator decided before the deadline.",
        }
    }
}

/// A turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TurnView {
    /// Session id.
    pub session_id: SessionId,
    /// Continuation id.
    pub continuation_id: ContinuationId,
    /// State of the turn.
    pub status: TurnStatus,
    /// The answer of a completed turn; for a direct tool call, its result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// Whether it failed: there is no answer, or the tool failed or was denied.
    pub is_error: bool,
    /// Why it failed or was interrupted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorBody>,
    /// Tokens and cost of the turn.
    pub usage: Usage,
}

impl TurnView {
    /// As callers read it.
    pub fn of(turn: &Continuation) -> Self {
        let status = TurnStatus::of(turn.state);
        Self {
            session_id: turn.session_id,
            continuation_id: turn.id,
            status,
            answer: turn.response.as_ref().map(|answer| answer.text.clone()),
            is_error: match status {
                TurnStatus::Running | TurnStatus::WaitsForApproval | TurnStatus::Interrupted => {
                    false
                }
                TurnStatus::Completed => turn.is_direct_call() && !call_succeeded(turn),
                TurnStatus::Failed | TurnStatus::Cancelled | TurnStatus::Expired => true,
            },
            error: turn.error.clone(),
            usage: turn.usage,
        }
    }

    /// The text for a model.
    pub fn text(&self) -> String {
        match (&self.answer, &self.error) {
            (Some(answer), _) => answer.clone(),
            (None, Some(error)) => format!("{} {}", self.status.sentence(), error.message),
            (None, None) => format!("{} ({})", self.status.sentence(), self.continuation_id),
        }
    }
}

fn call_succeeded(turn: &Continuation) -> bool {
    turn.tool_calls.last().is_some_and(|call| {
        matches!(
            call.state,
            ToolCallState::Succeeded | ToolCallState::SucceededByNote
        )
    })
}

/// A turn that a caller cancelled.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CancelView {
    /// The turn after the call.
    #[serde(flatten)]
    pub turn: TurnView,
    /// Whether it had ended before, so that nothing changed.
    pub already_final: bool,
}

/// An accepted turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AcceptedView {
    /// Session id.
    pub session_id: SessionId,
    /// Continuation id, for `await_continuation`, `cancel` and `resume`.
    pub continuation_id: ContinuationId,
    /// State of the turn.
    pub status: TurnStatus,
    /// Whether this repeats an earlier call with the same idempotency key.
    pub repeated: bool,
}

/// A session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionView {
    /// Session id.
    pub session_id: SessionId,
    /// Its title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// State of the session.
    pub state: SessionState,
    /// Whether an operator has paused it, so that new turns wait.
    pub paused: bool,
    /// `<provider>/<model>`; none = the default model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The turn that has not ended; none = the session is ready for a message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_turn: Option<OpenTurn>,
    /// Number of turns.
    pub turns: u32,
    /// Tokens and cost of all turns.
    pub usage: Usage,
    /// When it was opened.
    pub created_at: Timestamp,
    /// When it changed last.
    pub updated_at: Timestamp,
}

/// A turn that has not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OpenTurn {
    /// Continuation id.
    pub continuation_id: ContinuationId,
    /// State of the turn.
    pub status: TurnStatus,
}

impl SessionView {
    /// As callers read it.
    pub fn of(session: &Session) -> Self {
        Self {
            session_id: session.id,
            title: session.title.clone(),
            state: session.state,
            paused: session.paused,
            model: session.model.clone(),
            open_turn: session.open_continuation.as_ref().map(|open| OpenTurn {
                continuation_id: open.id,
                status: TurnStatus::of(open.state),
            }),
            turns: session.turns,
            usage: session.usage,
            created_at: session.created_at,
            updated_at: session.updated_at,
        }
    }
}

/// A page of sessions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionList {
    /// Newest change first.
    pub sessions: Vec<SessionView>,
    /// Cursor of the next page; none = this is the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}
