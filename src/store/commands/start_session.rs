//! Opens a session, or finds the active one of the conversation.

use crate::protocol::ids::SessionId;
use crate::store::command::{WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::tx::sessions::NewSession;

/// Opens a session on a conversation. Durable; the active one is reused and not changed.
#[derive(Debug, Clone)]
pub struct StartSession {
    pub channel: String,
    pub conversation: String,
    pub title: Option<String>,
    /// `<provider>/<model>`.
    pub model: Option<String>,
}

impl WriteCommand for StartSession {
    type Output = SessionId;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<SessionId, StoreError> {
        match tx.active_session(&self.channel, &self.conversation)? {
            Some(id) => Ok(id),
            None => tx.open_session(&NewSession {
                channel: &self.channel,
                conversation: &self.conversation,
                title: self.title.as_deref(),
                model: self.model.as_deref(),
                temporary: false,
            }),
        }
    }
}
