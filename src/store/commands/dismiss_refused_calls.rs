//! A person has read that calls of a session were refused because too many approvals waited.

use serde_json::json;

use crate::protocol::ids::SessionId;
use crate::protocol::session::Session;
use crate::store::command::{WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::input::ActorRef;
use crate::store::queries::sessions::load_session;
use crate::store::sql::Statements;

/// Takes the count of refused calls off the Queue; the calls stay refused. Durable. Done already is done.
#[derive(Debug, Clone)]
pub struct DismissRefusedCalls {
    pub session_id: SessionId,
    pub by: ActorRef,
}

impl WriteCommand for DismissRefusedCalls {
    type Output = Session;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<Session, StoreError> {
        let before = load_session(tx.conn, self.session_id)?;
        let Some(refused) = before.refused_calls else {
            return Ok(before);
        };
        tx.conn.run(
            "UPDATE sessions SET refused_calls = 0, refused_at = NULL WHERE id = ?1",
            [self.session_id],
        )?;
        tx.audit(
            "refused_calls.dismissed",
            &self.by,
            Some(&before.channel),
            self.session_id,
            &json!({ "calls": refused.count }),
        )?;
        tx.session_updated(self.session_id)
    }
}
