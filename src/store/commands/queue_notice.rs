//! Queues a word of ours to a conversation.

use crate::store::input::NewNotice;

/// Queues a notice. Durable; answers its row.
#[derive(Debug, Clone)]
pub struct QueueNotice {
    /// The notice.
    pub notice: NewNotice,
}
