//! Stores a model answer that proposes tool calls, with verdicts, approvals and their cards.

use crate::protocol::ids::ContinuationId;
use crate::store::command::{Durability, WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::input::{ModelStep, NewCall};
#[cfg(feature = "test-hooks")]
use crate::store::{input::NewCallOutcome, ops::approvals::Subject};

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

/// The second half of a proposal that was torn in two (`approval_before_ask` switched off).
#[cfg(feature = "test-hooks")]
#[derive(Debug, Clone)]
pub struct AskLater {
    /// The continuation.
    pub continuation_id: ContinuationId,
    /// Its calls in order, as they were given to [`LlmResult`].
    pub calls: Vec<NewCall>,
}

#[cfg(feature = "test-hooks")]
impl WriteCommand for AskLater {
    type Output = ();
    const DURABILITY: Durability = Durability::Durable;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        let head = tx.head(self.continuation_id)?;
        for call in &self.calls {
            if let NewCallOutcome::Ask(approval) = &call.outcome {
                tx.ask(&head, approval, &Subject::call(call.id))?;
            }
        }
        Ok(())
    }
}

impl WriteCommand for LlmResult {
    type Output = u32;
    const DURABILITY: Durability = Durability::Durable;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<u32, StoreError> {
        let head = tx.running(self.continuation_id, self.epoch)?;
        let ids = self.calls.iter().map(|call| call.id).collect();
        let n = tx.model_step(&head, &self.step, ids)?;
        for (index, call) in self.calls.iter().enumerate() {
            tx.propose_call(&head, n, index, call)?;
        }
        crate::crash_point!("propose.pre_commit");
        Ok(n)
    }

    fn committed(&self) {
        crate::crash_point!("propose.post");
    }
}
