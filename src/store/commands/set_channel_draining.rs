//! Lets a channel finish what was begun and take up nothing new, or everything again.

use crate::store::command::{WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::input::ActorRef;
use crate::store::sql::{Statements, params};
use serde_json::json;

/// Begins to drain a channel, or ends that. Durable. Since when stays where it drained already.
#[derive(Debug, Clone)]
pub struct SetChannelDraining {
    pub channel: String,
    /// Whether it takes up nothing new.
    pub draining: bool,
    pub by: ActorRef,
}

impl WriteCommand for SetChannelDraining {
    type Output = ();

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        let changed = tx.conn.run(
            "UPDATE channel_accounts SET updated_at = ?3,
                draining_since = CASE WHEN ?2 THEN coalesce(draining_since, ?3) END
             WHERE name = ?1",
            params![self.channel, self.draining, tx.now],
        )?;
        if changed == 0 {
            return Err(StoreError::not_found("channel", &self.channel));
        }
        tx.audit(
            "channel.draining",
            &self.by,
            Some(&self.channel),
            &self.channel,
            &json!({ "draining": self.draining }),
        )
    }
}
