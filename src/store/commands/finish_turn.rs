//! Completes a continuation: final step and all outbox parts in one transaction.

use crate::protocol::ids::ContinuationId;
use crate::store::input::{ModelStep, NewPart};

/// Completes a continuation. Durable. A temporary session ends with it.
#[derive(Debug, Clone)]
pub struct FinishTurn {
    /// The continuation.
    pub continuation_id: ContinuationId,
    /// Epoch of the caller.
    pub epoch: u64,
    /// The answer's own model step, when not stored yet.
    pub model: Option<ModelStep>,
    /// The answer.
    pub text: String,
    /// Why the model stopped.
    pub stop: String,
    /// What is to be sent, in order.
    pub parts: Vec<NewPart>,
    /// Last line of the session for lists.
    pub session_last_line: String,
}
