//! Ends a continuation with an error.

use crate::protocol::enums::{ApprovalState, ContinuationState, ToolCallState};
use crate::protocol::event::EventBody;
use crate::protocol::ids::{ContinuationId, ModelAttemptId};
use crate::protocol::session::StepBody;
use crate::protocol::session::{ErrorBody, Usage};
use crate::store::command::{WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::input::NewNotice;
use crate::store::tx::continuations::ContinuationRow;

/// Fails a running continuation. Durable: error step; open calls cancelled, gates revoked.
#[derive(Debug, Clone)]
pub struct FailTurn {
    pub continuation_id: ContinuationId,
    /// Epoch of the caller.
    pub epoch: u64,
    /// What ended it.
    pub error: ErrorBody,
    /// A model call to settle with it.
    pub model: Option<(ModelAttemptId, Usage)>,
    /// Words to the chat.
    pub notices: Vec<NewNotice>,
}

impl WriteTx<'_> {
    /// Ends a running continuation with an error: what is open of it is closed, and it is announced.
    pub(crate) fn fail_continuation(
        &mut self,
        head: &mut ContinuationRow,
        error: &ErrorBody,
    ) -> Result<(), StoreError> {
        self.push_step(
            head,
            &StepBody::Error {
                error: error.clone(),
            },
        )?;
        self.close_open(head, ApprovalState::Revoked, ToolCallState::Cancelled)?;
        self.move_continuation(head, ContinuationState::Failed, Some(error))?;
        self.emit_turn(
            head,
            EventBody::ContinuationFailed {
                error: error.clone(),
            },
        )
    }
}

impl WriteCommand for FailTurn {
    type Output = ();

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        let mut head = tx.running(self.continuation_id, self.epoch)?;
        if let Some((attempt, usage)) = self.model {
            tx.own_attempt(attempt, &head)?;
            tx.settle_attempt(attempt, head.session_id, usage, Some(&self.error.message))?;
        }
        tx.fail_continuation(&mut head, &self.error)?;
        tx.queue_notices(&self.notices)?;
        tx.end_if_temporary(&head)
    }
}
