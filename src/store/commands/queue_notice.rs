//! Queues a word of ours to a conversation.

use crate::protocol::ids::OutboxId;
use crate::store::command::{WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::input::NewNotice;

/// Queues a notice. Durable; answers its row, where somebody hears it.
#[derive(Debug, Clone)]
pub struct QueueNotice {
    pub notice: NewNotice,
}

impl WriteCommand for QueueNotice {
    type Output = Option<OutboxId>;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<Option<OutboxId>, StoreError> {
        tx.queue_notice(&self.notice)
    }
}
