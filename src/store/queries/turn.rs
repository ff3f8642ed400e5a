//! Everything the turn machine folds to go on with one continuation.

use crate::protocol::approval::Requester;
use crate::protocol::ids::{ContinuationId, SessionId};
use crate::protocol::session::{Step, ToolCall};
use crate::protocol::words::{ApprovalState, ContinuationState, Surface};
use crate::store::error::StoreError;
use crate::store::input::{TurnLimits, TurnUsed};
use crate::store::reader::Reader;

/// A tool call with what only the engine needs.
#[derive(Debug, Clone, PartialEq)]
pub struct CallRow {
    /// The call as surfaces see it.
    pub call: ToolCall,
    /// The provider's id.
    pub provider_call_id: String,
    /// One line of its arguments.
    pub preview: String,
    /// Digest of the plan that was judged or approved.
    pub digest: String,
    /// Digest of the canonical arguments.
    pub args_digest: String,
    /// Stable across attempts.
    pub idempotency_key: String,
    /// State of [`ToolCall::approval_id`].
    pub approval_state: Option<ApprovalState>,
    /// Which untrusted content was in context when it asked.
    pub taint: Vec<String>,
}

/// A continuation with its steps and calls.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnRows {
    /// Id.
    pub id: ContinuationId,
    /// Where it stands.
    pub state: ContinuationState,
    /// Epoch that claimed it last; 0 = never.
    pub epoch: u64,
    /// How often it was claimed.
    pub attempt: u32,
    /// Its session.
    pub session_id: SessionId,
    /// Channel name.
    pub channel: String,
    /// Conversation key.
    pub conversation: String,
    /// Who asked.
    pub requester: Requester,
    /// Through which surface.
    pub surface: Surface,
    /// The user's message: outside text.
    pub text: String,
    /// Model of this turn, else of its session.
    pub model: Option<String>,
    /// Budgets, extended by decisions.
    pub limits: TurnLimits,
    /// What it used.
    pub used: TurnUsed,
    /// Platform id of the user's message.
    pub message_ref: Option<String>,
    /// Whether its session ends with it.
    pub temporary: bool,
    /// The continuation it repeats.
    pub retry_of: Option<ContinuationId>,
    /// Its steps in order.
    pub steps: Vec<Step>,
    /// Its calls in order.
    pub calls: Vec<CallRow>,
}

impl Reader<'_> {
    /// One continuation, whole.
    pub fn turn(&self, id: ContinuationId) -> Result<TurnRows, StoreError> {
        Err(StoreError::Closed)
    }
}
