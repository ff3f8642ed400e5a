//! Changes title, model or pause of a session.

use crate::protocol::event::EventBody;
use crate::protocol::ids::SessionId;
use crate::store::command::{Durability, WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::input::ActorRef;
use crate::store::queries::sessions::load_session;
use crate::store::sql::{Statements, params};

/// Changes a session that is active. Durable. Absent fields stay.
#[derive(Debug, Clone)]
pub struct UpdateSession {
    /// Which one.
    pub session_id: SessionId,
    /// New title.
    pub title: Option<String>,
    /// New model.
    pub model: Option<String>,
    /// Whether new continuations are held back.
    pub paused: Option<bool>,
    /// Who.
    pub by: ActorRef,
}

impl WriteCommand for UpdateSession {
    type Output = ();
    const DURABILITY: Durability = Durability::Durable;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        tx.active(self.session_id)?;
        tx.conn.run(
            "UPDATE sessions SET title = coalesce(?2, title), model = coalesce(?3, model), paused = coalesce(?4, paused),
                updated_at = ?5 WHERE id = ?1",
            params![self.session_id, self.title, self.model, self.paused, tx.now],
        )?;
        if self.paused == Some(false) {
            tx.conn.run(
                "UPDATE sessions SET flood = NULL, flood_count = NULL, flood_at = NULL, unpaused_at = ?2 WHERE id = ?1",
                params![self.session_id, tx.now],
            )?;
        }
        let session = Box::new(load_session(tx.conn, self.session_id)?);
        if self.paused.is_some() {
            tx.audit(
                "session.updated",
                &self.by,
                Some(&session.channel),
                self.session_id,
                &serde_json::json!({ "paused": self.paused }),
            )?;
        }
        tx.emit(
            Some(self.session_id),
            None,
            EventBody::SessionUpdated { session },
        )
    }
}
