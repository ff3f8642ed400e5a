//! Writes the intent of a send before the platform sees it.

use crate::protocol::ids::OutboxId;

/// Marks a part as being sent. Durable: send only after this.
#[derive(Debug, Clone)]
pub struct BeginSend {
    /// Which part.
    pub outbox_id: OutboxId,
    /// Epoch of the caller.
    pub epoch: u64,
}
