//! Queues a message that says that it is a test.

use crate::protocol::ids::OutboxId;
use crate::store::command::{WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::input::{ActorRef, NewNotice};
use serde_json::json;

/// Queues it and names who tests. Durable; answers the part.
#[derive(Debug, Clone)]
pub struct QueueChannelTest {
    /// What is sent.
    pub notice: NewNotice,
    pub by: ActorRef,
}

impl WriteCommand for QueueChannelTest {
    type Output = OutboxId;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<OutboxId, StoreError> {
        let id = tx
            .queue_notice(&self.notice)?
            .ok_or_else(|| StoreError::not_found("conversation", &self.notice.conversation))?;
        tx.audit(
            "channel.tested",
            &self.by,
            Some(&self.notice.channel),
            id,
            &json!({ "conversation": self.notice.conversation }),
        )?;
        Ok(id)
    }
}
