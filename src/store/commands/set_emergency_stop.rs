//! Records the emergency stop, or its release.

use crate::protocol::enums::Autonomy;
use crate::store::command::{WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::input::ActorRef;
use crate::store::meta;
use crate::store::queries::channels::load_policy;
use crate::store::sql::Statements;
use serde_json::json;

/// Holds or releases the engine. Durable.
#[derive(Debug, Clone)]
pub struct SetEmergencyStop {
    /// Who, and the reason; none = released.
    pub held: Option<String>,
    pub by: ActorRef,
    /// Whether every channel at `full` goes back to its earlier level (or supervised).
    pub drop_full: bool,
}

impl WriteCommand for SetEmergencyStop {
    type Output = ();

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        match &self.held {
            Some(reason) => {
                // Pressing twice makes the stop no younger and hides no reason.
                if meta::get(tx.conn, "held_at")?.is_none() {
                    meta::set_time(tx.conn, "held_at", tx.now)?;
                    meta::set(tx.conn, "held_reason", reason)?;
                }
            }
            None => {
                meta::clear(tx.conn, "held_at")?;
                meta::clear(tx.conn, "held_reason")?;
                tx.drop_held_words()?;
            }
        }
        let action = if self.held.is_some() {
            "engine.held"
        } else {
            "engine.released"
        };
        let detail = json!({ "reason": self.held });
        tx.audit(action, &self.by, None, "engine", &detail)?;
        if self.drop_full {
            let channels: Vec<String> = tx.conn.values(
                "SELECT channel FROM policies WHERE autonomy = 'full' ORDER BY channel",
                [],
            )?;
            for channel in channels {
                let mut policy = load_policy(tx.conn, &channel)?;
                policy.version += 1;
                policy.autonomy = match policy.reverts_to {
                    Some(level) if level < Autonomy::Full => level,
                    Some(_) | None => Autonomy::Supervised,
                };
                policy.expires_at = None;
                policy.reverts_to = None;
                tx.put_policy(&channel, &policy, &self.by, "emergency stop")?;
            }
        }
        Ok(())
    }
}
