//! A call asks a person while it runs, and takes its question back when it needs no answer any more.
//!
//! Such a question belongs to no call that waits: a decision moves neither the call nor its turn, and only the process
//! that runs the call hears the answer.

use crate::protocol::enums::ApprovalState;
use crate::protocol::ids::{ApprovalId, ContinuationId};
use crate::store::command::{WriteCommand, WriteTx};
use crate::store::commands::decide::go_on;
use crate::store::error::StoreError;
use crate::store::input::{ActorRef, NewApproval};
use crate::store::queries::approvals::RunningQuestion;
use crate::store::tx::approvals::Subject;

/// Asks. Durable.
#[derive(Debug, Clone)]
pub struct AskInCall {
    /// The turn of the call; it runs.
    pub continuation_id: ContinuationId,
    /// Epoch of the caller.
    pub epoch: u64,
    /// The question.
    pub approval: NewApproval,
    /// Who asks, and the answers that are offered.
    pub asked: RunningQuestion,
}

impl WriteCommand for AskInCall {
    type Output = ();

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        let head = tx.running(self.continuation_id, self.epoch)?;
        let subject = Subject {
            baseline: Some(serde_json::to_string(&self.asked)?),
            ..Subject::default()
        };
        tx.ask(&head, &self.approval, &subject)
    }
}

/// Takes a question back that nobody answered. Durable. One that is answered stays as it is.
#[derive(Debug, Clone)]
pub struct WithdrawQuestion {
    pub approval_id: ApprovalId,
    /// `expired` where its time is over, else `revoked`.
    pub to: ApprovalState,
}

impl WriteCommand for WithdrawQuestion {
    /// Whether its turn goes on with this.
    type Output = bool;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<bool, StoreError> {
        let gate = tx.gate(self.approval_id)?;
        if gate.state != ApprovalState::Pending {
            return Ok(false);
        }
        tx.close_gate(gate.id, self.to)?;
        // The call may have ended before, and its turn waits for this one then.
        match gate.continuation_id {
            Some(turn) => {
                let mut head = tx.head(turn)?;
                go_on(tx, &mut head, &ActorRef::engine().label)
            }
            None => Ok(false),
        }
    }
}
