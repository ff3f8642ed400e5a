//! Tells a conversation once that an emergency stop holds everything.

use crate::store::command::{WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::input::{EngineNotice, NewNotice};
use crate::store::meta;
use crate::store::sql::{Statements, params};

/// Says it, unless this conversation was told during this stop. Does nothing when nothing is held. Durable.
#[derive(Debug, Clone)]
pub struct AnnounceEmergencyStop {
    /// What is said, and where.
    pub notice: NewNotice,
}

impl WriteCommand for AnnounceEmergencyStop {
    type Output = ();

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        let Some(since) = meta::time(tx.conn, "held_at")? else {
            return Ok(());
        };
        let told: bool = tx.conn.value(
            "SELECT EXISTS (SELECT 1 FROM outbox
             WHERE channel = ?1 AND conversation = ?2 AND own = 'held' AND created_at >= ?3)",
            params![self.notice.channel, self.notice.conversation, since],
        )?;
        if told {
            return Ok(());
        }
        tx.queue_own(&self.notice, EngineNotice::Held)
    }
}
