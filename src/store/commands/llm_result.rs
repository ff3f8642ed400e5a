//! Stores a model answer that proposes tool calls, with verdicts, approvals and their cards.

use crate::protocol::ids::ContinuationId;
use crate::store::command::{WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::input::{ModelStep, NewCall, NewCallOutcome};

/// A model answer with tool calls. Durable; answers the step's number. The continuation stays running.
#[derive(Debug, Clone)]
pub struct LlmResult {
    pub continuation_id: ContinuationId,
    /// Epoch of the caller.
    pub epoch: u64,
    /// The answer.
    pub step: ModelStep,
    /// Its calls in order.
    pub calls: Vec<NewCall>,
}

impl WriteCommand for LlmResult {
    type Output = u32;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<u32, StoreError> {
        let head = tx.running(self.continuation_id, self.epoch)?;
        let ids = self.calls.iter().map(|call| call.id).collect();
        let n = tx.model_step(&head, &self.step, ids)?;
        let mut refused = 0;
        for (index, call) in self.calls.iter().enumerate() {
            match tx.propose_call(&head, n, index, call)? {
                NewCallOutcome::TooManyWait { .. } => refused += 1,
                NewCallOutcome::Ready | NewCallOutcome::Ask(_) | NewCallOutcome::Refused { .. } => {
                }
            }
        }
        if refused > 0 {
            tx.count_refused_calls(&head, refused)?;
        }
        crate::crash_point!("propose.pre_commit");
        Ok(n)
    }

    fn committed(&self) {
        crate::crash_point!("propose.post");
    }
}
