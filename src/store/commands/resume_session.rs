//! Makes an earlier session the active one of its conversation again.

use crate::protocol::enums::SessionState;
use crate::protocol::ids::{ContinuationId, SessionId};
use crate::store::command::{WriteCommand, WriteTx};
use crate::store::commands::end_session::EndSession;
use crate::store::error::StoreError;
use crate::store::input::ActorRef;
use crate::store::sql::{Statements, params};

/// Resumes an ended or expired session. The active session of the conversation ends, and what is open in it is
/// cancelled. Permissions and rules that ended with the session stay ended. Durable; answers the cancelled
/// continuations. Resuming an active session changes nothing.
#[derive(Debug, Clone)]
pub struct ResumeSession {
    pub session_id: SessionId,
    pub by: ActorRef,
}

impl WriteCommand for ResumeSession {
    type Output = Vec<ContinuationId>;

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
        tx.session_updated(self.session_id)?;
        Ok(cancelled)
    }
}
