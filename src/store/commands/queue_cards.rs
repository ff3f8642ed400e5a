//! Sends cards for an approval that already waits.

use crate::protocol::enums::ApprovalState;
use crate::protocol::ids::ApprovalId;
use crate::store::command::{WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::input::NewCard;

/// Queues cards for a pending approval (one that came back to pending, or reached nobody). Durable.
#[derive(Debug, Clone)]
pub struct QueueCards {
    pub approval_id: ApprovalId,
    pub cards: Vec<NewCard>,
}

impl WriteCommand for QueueCards {
    type Output = ();

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        let gate = tx.gate(self.approval_id)?;
        if gate.state != ApprovalState::Pending {
            return Err(StoreError::conflict(format!(
                "approval {} is {}: cards are sent for pending ones",
                gate.id, gate.state
            )));
        }
        tx.queue_cards(&gate, &self.cards)
    }
}
