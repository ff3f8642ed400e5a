//! Lets an interrupted continuation go on.

use crate::protocol::enums::ContinuationState;
use crate::protocol::ids::ContinuationId;
use crate::store::command::{WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::input::ActorRef;

/// Resumes an interrupted continuation: to pending, or to awaiting_approval while a gate waits. Durable.
#[derive(Debug, Clone)]
pub struct Resume {
    pub continuation_id: ContinuationId,
    pub by: ActorRef,
}

impl WriteCommand for Resume {
    type Output = ();

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        let mut head = tx.head(self.continuation_id)?;
        if head.state != ContinuationState::Interrupted {
            return Err(StoreError::rejected(format!(
                "continuation {} is {}: only an interrupted one can be resumed",
                head.id, head.state
            )));
        }
        if let Some(call) = tx.started_calls(head.id)?.first() {
            return Err(StoreError::rejected(format!(
                "continuation {} cannot be resumed while tool call {call} is started",
                head.id
            )));
        }
        let pending = tx.pending_gates(head.id)?;
        tx.audit(
            "continuation.resumed",
            &self.by,
            Some(&head.channel),
            head.id,
            &serde_json::json!({ "gates": pending }),
        )?;
        // Awaiting is announced alone: `continuation.resumed` announces pending.
        if pending > 0 {
            return tx.await_approval(&mut head, pending);
        }
        tx.requeue(&mut head, &self.by.label)
    }

    fn committed(&self) {
        crate::crash_point!("resume.post");
    }
}
