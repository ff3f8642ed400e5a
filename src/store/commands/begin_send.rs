//! Writes the intent of a send before the platform sees it.

use crate::protocol::ids::{ContinuationId, OutboxId};
use crate::protocol::words::OutboxState;
use crate::store::command::{Durability, WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::schema;
use rusqlite::params;

/// Marks a part as being sent. Durable: send only after this.
#[derive(Debug, Clone)]
pub struct BeginSend {
    /// Which part.
    pub outbox_id: OutboxId,
    /// Epoch of the caller.
    pub epoch: u64,
}

impl WriteCommand for BeginSend {
    type Output = ();
    const DURABILITY: Durability = Durability::Durable;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        tx.same_epoch(self.epoch)?;
        if schema::quarantined(tx.conn)? {
            return Err(StoreError::illegal(format!(
                "delivery {}: the database is quarantined, nothing is sent",
                self.outbox_id
            )));
        }
        let mut part = tx.part(self.outbox_id)?;
        let earlier: bool = tx
            .conn
            .prepare_cached(
                // An earlier part that itself waits for an answer about the part before it holds up nothing
                // but its own answer.
                "SELECT EXISTS (SELECT 1 FROM outbox AS earlier
                    WHERE channel = ?1 AND settled_at IS NULL AND position < ?2 AND conversation = ?3
                        AND (continuation_id IS ?4 OR NOT EXISTS (
                            SELECT 1 FROM outbox AS before
                            WHERE before.state = 'unknown' AND before.class = 'final'
                                AND earlier.class = 'final'
                                AND before.continuation_id = earlier.continuation_id
                                AND before.position < earlier.position)))
                 OR (?5 = 'final' AND EXISTS (SELECT 1 FROM outbox
                    WHERE state = 'unknown' AND class = 'final' AND continuation_id = ?4 AND position < ?2))",
            )?
            .query_row(
                params![
                    part.channel,
                    part.position,
                    part.conversation,
                    part.continuation_id.map(ContinuationId::to_bytes),
                    part.class.as_str()
                ],
                |row| row.get(0),
            )?;
        if earlier {
            return Err(StoreError::illegal(format!(
                "delivery {} cannot go from {} to sending: an earlier part of its conversation is not out of the way",
                part.id, part.state
            )));
        }
        tx.move_part(&mut part, OutboxState::Sending)?;
        tx.conn
            .prepare_cached("UPDATE outbox SET attempts = attempts + 1, epoch = ?2, begun_at = ?3, not_before = NULL WHERE id = ?1")?
            .execute(params![part.id.to_bytes(), self.epoch, tx.now.as_millis()])?;
        Ok(())
    }

    fn committed(&self) {
        crate::crash_point!("send.started");
    }
}
