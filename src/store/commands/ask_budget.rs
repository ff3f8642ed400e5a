//! Asks a person whether a continuation may use more than its budget.

use crate::protocol::ids::ContinuationId;
use crate::store::input::{BudgetKind, NewApproval};

/// A budget is used up: asks (kind `budget`) and parks. Durable.
#[derive(Debug, Clone)]
pub struct AskBudget {
    /// The continuation.
    pub continuation_id: ContinuationId,
    /// Epoch of the caller.
    pub epoch: u64,
    /// Which limit; `extra` of the decision is added to it.
    pub budget: BudgetKind,
    /// The question.
    pub approval: NewApproval,
    /// Milliseconds of engine time to add.
    pub active_ms: u64,
}
