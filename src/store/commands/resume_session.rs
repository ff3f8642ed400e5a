//! Makes an earlier session the active one of its conversation again.

use crate::protocol::enums::SessionState;
use crate::protocol::event::EventBody;
use crate::protocol::ids::{ContinuationId, SessionId};
use crate::store::command::{Durability, WriteCommand, WriteTx};
use crate::store::commands::end_session::EndSession;
use crate::store::error::StoreError;
use crate::store::input::ActorRef;
use crate::store::queries::sessions::load_session;
use crate::store::sql::{Statements, params};

/// Resumes an ended or expired session. The active session of the conversation ends, and what is open in it is
/// cancelled. Permissions and rules that ended with the session stay ended. Durable; answers the cancelled
/// continuations. Resuming an active session changes nothing.
#[derive(Debug, Clone)]
pub struct ResumeSession {
    /// Which one.
    pub session_id: SessionId,
    /// Who.
    pub by: ActorRef,
}

impl WriteCommand for ResumeSession {
    type Output = Vec<ContinuationId>;
    const DURABILITY: Durability = Durability::Durable;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<Vec<ContinuationId>, StoreError> {
        if tx.session_state(self.session_id)? == SessionState::Active {
            return Ok(Vec::new());
        }
        let place = tx.place_of(self.session_id)?;
        if place.temporary {
            return Err(StoreError::rejected(format!(
                "session {} was for one question and cannot be resumed: start a new one",
                self.session_id
            )));
        }
        let cancelled = match tx.active_session(&place.channel, &place.conversation)? {
            Some(session_id) => EndSession {
                session_id,
                reason: format!("session {} was resumed", self.session_id),
                by: self.by.clone(),
            }
            .apply(tx)?,
            None => Vec::new(),
        };
        tx.conn.run(
            "UPDATE sessions SET state = 'active', updated_at = ?2 WHERE id = ?1",
            params![self.session_id, tx.now],
        )?;
        tx.audit(
            "session.resumed",
            &self.by,
            Some(&place.channel),
            self.session_id,
            &serde_json::json!({ "cancelled": cancelled.len() }),
        )?;
        let session = Box::new(load_session(tx.conn, self.session_id)?);
        tx.emit(
            Some(self.session_id),
            None,
            EventBody::SessionUpdated { session },
        )?;
        Ok(cancelled)
    }
}
