//! Ends a session and cancels what is open in it.

use crate::protocol::enums::SessionState;
use crate::protocol::ids::ContinuationId;
use crate::protocol::ids::SessionId;
use crate::store::command::{WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::input::ActorRef;

/// Ends a session. Durable; answers the continuations cancelled with it. Ending an ended one changes nothing.
#[derive(Debug, Clone)]
pub struct EndSession {
    pub session_id: SessionId,
    pub reason: String,
    pub by: ActorRef,
}

impl WriteCommand for EndSession {
    type Output = Vec<ContinuationId>;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<Vec<ContinuationId>, StoreError> {
        if tx.session_state(self.session_id)? != SessionState::Active {
            return Ok(Vec::new());
        }
        let open = tx.open_of_session(self.session_id)?;
        for id in &open {
            let mut head = tx.head(*id)?;
            // The session is ended below, also when it is temporary.
            head.temporary = false;
            tx.cancel_continuation(&mut head, &self.by, Some(&self.reason), &[])?;
        }
        tx.mark_ended(self.session_id, &self.reason)?;
        Ok(open)
    }
}
