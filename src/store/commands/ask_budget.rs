//! Asks a person whether a continuation may use more than its budget.

use crate::protocol::event::EventBody;
use crate::protocol::ids::ContinuationId;
use crate::protocol::words::ContinuationState;
use crate::store::command::{Durability, WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::input::{BudgetKind, NewApproval};
use crate::store::ops::approvals::Subject;

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

impl WriteCommand for AskBudget {
    type Output = ();
    const DURABILITY: Durability = Durability::Durable;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        let mut head = tx.running(self.continuation_id, self.epoch)?;
        if let Some(call) = tx.started_calls(head.id)?.first() {
            return Err(StoreError::illegal(format!(
                "continuation {} cannot go from running to awaiting_approval while tool call {call} is started",
                head.id
            )));
        }
        tx.add_active(head.id, self.active_ms)?;
        tx.emit(
            Some(head.session_id),
            Some(head.id),
            EventBody::BudgetReached {
                budget: self.budget.as_str().to_owned(),
            },
        )?;
        tx.ask(&head, &self.approval, &Subject::budget(self.budget))?;
        tx.move_continuation(&mut head, ContinuationState::AwaitingApproval, None)?;
        let pending = tx.pending_gates(head.id)?;
        tx.emit(
            Some(head.session_id),
            Some(head.id),
            EventBody::ContinuationAwaitingApproval { pending },
        )
    }
}
