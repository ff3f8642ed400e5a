//! Pauses or resumes a channel.

use crate::store::command::{WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::input::ActorRef;
use crate::store::sql::{Statements, params};
use serde_json::json;

/// Pauses or resumes a channel. Durable.
#[derive(Debug, Clone)]
pub struct SetChannelPaused {
    pub channel: String,
    pub paused: bool,
    pub by: ActorRef,
}

impl WriteCommand for SetChannelPaused {
    type Output = ();

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        let changed = tx.conn.run(
            "UPDATE channel_accounts SET paused = ?2, updated_at = ?3 WHERE name = ?1",
            params![self.channel, self.paused, tx.now],
        )?;
        if changed == 0 {
            return Err(StoreError::not_found("channel", &self.channel));
        }
        tx.audit(
            "channel.paused",
            &self.by,
            Some(&self.channel),
            &self.channel,
            &json!({ "paused": self.paused }),
        )
    }
}
