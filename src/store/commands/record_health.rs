//! Keeps when a channel last talked to its platform.

use crate::protocol::channel::ChannelHealth;
use crate::store::command::{Durability, WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::sql::{Statements, params};

/// Keeps the times of a channel's health; nothing goes back in time. Relaxed: the newest may be lost with the power.
#[derive(Debug, Clone)]
pub struct RecordHealth {
    pub channel: String,
    /// Of which the times are kept.
    pub health: ChannelHealth,
}

impl WriteCommand for RecordHealth {
    type Output = ();
    const DURABILITY: Durability = Durability::Relaxed;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        tx.conn.run(
            "UPDATE channel_accounts SET
                last_exchange_at = max(coalesce(?2, last_exchange_at), coalesce(last_exchange_at, ?2)),
                last_inbound_at = max(coalesce(?3, last_inbound_at), coalesce(last_inbound_at, ?3)),
                last_outbound_at = max(coalesce(?4, last_outbound_at), coalesce(last_outbound_at, ?4))
             WHERE name = ?1",
            params![
                self.channel,
                self.health.last_exchange_at,
                self.health.last_inbound_at,
                self.health.last_outbound_at
            ],
        )?;
        Ok(())
    }
}
