//! Lets an interrupted continuation go on.

use crate::protocol::enums::ContinuationState;
use crate::protocol::event::EventBody;
use crate::protocol::ids::ContinuationId;
use crate::store::command::{Durability, WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::input::ActorRef;

/// Resumes an interrupted continuation: to pending, or to awaiting_approval while a gate waits. Durable.
#[derive(Debug, Clone)]
pub struct Resume {
    /// Which one.
    pub continuation_id: ContinuationId,
    /// Who.
    pub by: ActorRef,
}

impl WriteCommand for Resume {
    type Output = ();
    const DURABILITY: Durability = Durability::Durable;

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
        let to = if pending > 0 {
            ContinuationState::AwaitingApproval
        } else {
            ContinuationState::Pending
        };
        tx.move_continuation(&mut head, to, None)?;
        // Awaiting is announced alone: `continuation.resumed` announces pending.
        let body = if pending > 0 {
            EventBody::ContinuationAwaitingApproval { pending }
        } else {
            EventBody::ContinuationResumed {
                by: self.by.label.clone(),
            }
        };
        tx.emit(Some(head.session_id), Some(head.id), body)
    }

    fn committed(&self) {
        crate::crash_point!("resume.post");
    }
}
