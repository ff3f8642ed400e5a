//! Asks a person whether a continuation may use more than its budget.

use crate::protocol::enums::ContinuationState;
use crate::protocol::event::{BudgetLevel, EventBody};
use crate::protocol::ids::ContinuationId;
use crate::store::command::{WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::input::{BudgetKind, NewApproval};
use crate::store::tx::approvals::Subject;

/// A budget is used up: asks (kind `budget`) and parks. Durable.
#[derive(Debug, Clone)]
pub struct AskBudget {
    pub continuation_id: ContinuationId,
    /// Epoch of the caller.
    pub epoch: u64,
    /// Which limit; `extra` of the decision is added to it.
    pub budget: BudgetKind,
    /// What a decision without an amount adds, in the unit that people are asked in (seconds for time); none = as much
    /// as it was, which only a limit of the turn knows.
    pub extra: Option<f64>,
    /// The day a limit of a channel or a day is for, in days since 1970-01-01.
    pub day: Option<i64>,
    /// How much the limit allows, for the event.
    pub limit: f64,
    /// How much is used or reserved, for the event.
    pub used: f64,
    /// The question.
    pub approval: NewApproval,
    /// Milliseconds of engine time to add.
    pub active_ms: u64,
}

impl WriteCommand for AskBudget {
    type Output = ();

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        let mut head = tx.running(self.continuation_id, self.epoch)?;
        if self.extra.is_none() && self.budget.is_shared()
            || self.budget.is_of_a_day() && self.day.is_none()
        {
            return Err(StoreError::bug(format!(
                "a question about the budget {} names an amount, and its day where it has one",
                self.budget.as_str()
            )));
        }
        tx.nothing_in_flight(&head, ContinuationState::AwaitingApproval)?;
        tx.add_active(head.id, self.active_ms)?;
        tx.emit_turn(
            &head,
            EventBody::BudgetReached {
                budget: self.budget.as_str().to_owned(),
                level: BudgetLevel::Reached,
                limit: Some(self.limit),
                used: Some(self.used),
            },
        )?;
        tx.ask(
            &head,
            &self.approval,
            &Subject::budget(self.budget, self.day, self.extra),
        )?;
        let pending = tx.pending_gates(head.id)?;
        tx.await_approval(&mut head, pending)
    }
}
