//! Stores a model answer that proposes tool calls, with verdicts, approvals and their cards.

use crate::protocol::ids::ContinuationId;
use crate::store::input::{ModelStep, NewCall};

/// A model answer with tool calls. Durable; answers the step's number. The continuation stays running.
#[derive(Debug, Clone)]
pub struct LlmResult {
    /// The continuation.
    pub continuation_id: ContinuationId,
    /// Epoch of the caller.
    pub epoch: u64,
    /// The answer.
    pub step: ModelStep,
    /// Its calls in order.
    pub calls: Vec<NewCall>,
}
