//! What callers read of sessions and turns. Nothing here tells of an approval, of a policy, or of who decides.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::protocol::enums::{ContinuationState, SessionState, ToolCallState};
use crate::protocol::ids::{ContinuationId, SessionId};
use crate::protocol::session::{Continuation, ErrorBody, Session, Usage};

/// Where a turn stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TurnStatus {
    /// It waits for its turn, or is worked on.
    Running,
    /// An operator has to decide something. It goes on by itself then; nobody who calls can decide.
    WaitsForApproval,
    /// It was broken off, and goes on after `resume`.
    Interrupted,
    /// It ended with an answer.
    Completed,
    /// It ended without one.
    Failed,
    /// Somebody ended it.
    Cancelled,
    /// An operator did not decide in time.
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

    /// What a caller should know, in a sentence.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Running => "It is still worked on; await_continuation waits for its end.",
            Self::WaitsForApproval => {
                "It waits for an operator's approval. It goes on by itself once an operator has decided; \
                 await_continuation waits for that."
            }
            Self::Interrupted => "It was interrupted; resume lets it go on.",
            Self::Completed => "It is completed.",
            Self::Failed => "It failed.",
            Self::Cancelled => "It was cancelled.",
            Self::Expired => "No operator decided in time; it did not run.",
        }
    }
}

/// A turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TurnView {
    /// Its session.
    pub session_id: SessionId,
    /// Its id.
    pub continuation_id: ContinuationId,
    /// Where it stands.
    pub status: TurnStatus,
    /// The answer, once it is completed; of a tool called directly, its result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// Whether it ended badly: no answer, or a tool that failed or was denied.
    pub is_error: bool,
    /// Why, where it ended badly or was interrupted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorBody>,
    /// What it used.
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

    /// What a model reads of it.
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

/// A turn that somebody wanted to end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CancelView {
    /// The turn as it is now.
    #[serde(flatten)]
    pub turn: TurnView,
    /// Whether it had ended before; then nothing changed.
    pub already_final: bool,
}

/// A turn that was accepted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AcceptedView {
    /// Its session.
    pub session_id: SessionId,
    /// Its id, for `await_continuation`, `cancel` and `resume`.
    pub continuation_id: ContinuationId,
    /// Where it stands.
    pub status: TurnStatus,
    /// Whether it was accepted before, with the same idempotency key.
    pub repeated: bool,
}

/// A session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionView {
    /// Its id.
    pub session_id: SessionId,
    /// Its title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Where it stands.
    pub state: SessionState,
    /// Whether an operator holds new turns back.
    pub paused: bool,
    /// `<provider>/<model>`, when it differs from the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The turn that is not ended; none = it takes a message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_turn: Option<OpenTurn>,
    /// Number of turns.
    pub turns: u32,
    /// Sum over all turns.
    pub usage: Usage,
    /// When it was opened.
    pub created_at: Timestamp,
    /// Last change.
    pub updated_at: Timestamp,
}

/// A turn that is not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OpenTurn {
    /// Its id.
    pub continuation_id: ContinuationId,
    /// Where it stands.
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
    /// Where the next page begins; none = this is the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}
