//! Changes title, model, pause or preferences of a session.

use crate::protocol::ids::SessionId;
use crate::store::command::{WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::input::ActorRef;
use crate::store::sql::{Statements, params};

/// Changes a session that is active. Durable. Absent fields stay.
#[derive(Debug, Clone)]
pub struct UpdateSession {
    pub session_id: SessionId,
    pub title: Option<String>,
    pub model: Option<String>,
    /// Whether new continuations are held back.
    pub paused: Option<bool>,
    /// New preferences, redacted; empty = none any more.
    pub preferences: Option<String>,
    pub by: ActorRef,
}

impl WriteCommand for UpdateSession {
    type Output = ();

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        tx.active(self.session_id)?;
        tx.conn.run(
            "UPDATE sessions SET title = coalesce(?2, title), model = coalesce(?3, model), paused = coalesce(?4, paused),
                preferences = nullif(coalesce(?6, preferences), ''), updated_at = ?5 WHERE id = ?1",
            params![
                self.session_id,
                self.title,
                self.model,
                self.paused,
                tx.now,
                self.preferences
            ],
        )?;
        if self.paused == Some(false) {
            tx.conn.run(
                "UPDATE sessions SET flood = NULL, flood_count = NULL, flood_at = NULL, unpaused_at = ?2 WHERE id = ?1",
                params![self.session_id, tx.now],
            )?;
        }
        let session = tx.session_updated(self.session_id)?;
        let mut changed = serde_json::Map::new();
        if let Some(paused) = self.paused {
            changed.insert("paused".to_owned(), paused.into());
        }
        if let Some(text) = &self.preferences {
            // The audit is never rewritten, and the text may name people.
            changed.insert("preferences_bytes".to_owned(), text.len().into());
        }
        if !changed.is_empty() {
            tx.audit(
                "session.updated",
                &self.by,
                Some(&session.channel),
                self.session_id,
                &changed.into(),
            )?;
        }
        Ok(())
    }
}
