//! Drops a word about work under way that came too late to be of use.

use crate::protocol::enums::{OutboxClass, OutboxState};
use crate::protocol::ids::{ContinuationId, OutboxId};
use crate::store::command::{Durability, WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::sql::{Statements, params};

/// A word about work under way that waited longer than so many milliseconds says nothing true any more.
const STALE_MS: u64 = 60_000;

/// Drops a part of class `progress` that has waited for more than a minute. Does nothing to any other part.
#[derive(Debug, Clone, Copy)]
pub struct DropExpiredNotice {
    pub outbox_id: OutboxId,
}

impl WriteTx<'_> {
    /// Drops what a continuation still wanted to say about its progress: its answer says more.
    pub(crate) fn drop_progress(&mut self, continuation: ContinuationId) -> Result<(), StoreError> {
        let waiting = self.conn.values::<OutboxId>(
            "SELECT id FROM outbox INDEXED BY outbox_progress WHERE continuation_id = ?1 AND class = 'progress'
                AND settled_at IS NULL AND state = 'pending'",
            params![continuation],
        )?;
        for id in waiting {
            let mut part = self.part(id)?;
            self.move_part(&mut part, OutboxState::Superseded)?;
        }
        Ok(())
    }
}

impl WriteCommand for DropExpiredNotice {
    /// Whether it was dropped.
    type Output = bool;
    const DURABILITY: Durability = Durability::Relaxed;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<bool, StoreError> {
        let mut part = tx.part(self.outbox_id)?;
        let stale = part.class == OutboxClass::Progress
            && part.state == OutboxState::Pending
            && tx.now.millis_since(part.created_at) > STALE_MS;
        if stale {
            tx.move_part(&mut part, OutboxState::Superseded)?;
        }
        Ok(stale)
    }
}
