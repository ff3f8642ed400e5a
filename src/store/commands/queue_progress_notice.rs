//! Tells a chat, once for each turn, that work on its message goes on.

use crate::protocol::enums::{ContinuationState, OutboxClass};
use crate::protocol::ids::ContinuationId;
use crate::store::command::{WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::sql::{Statements, params};

/// Queues the notice, unless the turn has one, has ended, or waits for a person. Durable; whether it was queued.
#[derive(Debug, Clone)]
pub struct QueueProgressNotice {
    pub continuation_id: ContinuationId,
    /// What is said while it runs: Markdown.
    pub running: String,
    /// What is said while it waits for earlier work: Markdown.
    pub waiting: String,
}

impl WriteCommand for QueueProgressNotice {
    type Output = bool;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<bool, StoreError> {
        let turn = tx.head(self.continuation_id)?;
        let text = match turn.state {
            ContinuationState::Pending => &self.waiting,
            ContinuationState::Running | ContinuationState::Streaming => &self.running,
            ContinuationState::AwaitingApproval
            | ContinuationState::Interrupted
            | ContinuationState::Completed
            | ContinuationState::Failed
            | ContinuationState::Cancelled
            | ContinuationState::Expired => return Ok(false),
        };
        let told = tx.conn.run(
            "UPDATE continuations SET progress_told_at = ?2 WHERE id = ?1 AND progress_told_at IS NULL",
            params![turn.id, tx.now],
        )?;
        if told == 0 {
            return Ok(false);
        }
        tx.queue_notice(&turn.notice(OutboxClass::Progress, text))?;
        Ok(true)
    }
}
