//! Sends cards for an approval that already waits.

use crate::protocol::ids::ApprovalId;
use crate::store::input::NewCard;

/// Queues cards for a pending approval (one that came back to pending, or reached nobody). Durable.
#[derive(Debug, Clone)]
pub struct QueueCards {
    /// The approval.
    pub approval_id: ApprovalId,
    /// The cards.
    pub cards: Vec<NewCard>,
}
