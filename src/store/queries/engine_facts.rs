//! Small facts the engine asks for while it judges and routes.

use crate::protocol::approval::Requester;
use crate::protocol::ids::SessionId;
use crate::store::error::StoreError;
use crate::store::reader::Reader;

impl Reader<'_> {
    /// Everybody who said something in a session: whose words are in its context.
    pub fn session_requesters(&self, session: SessionId) -> Result<Vec<Requester>, StoreError> {
        let _ = session;
        Err(StoreError::Closed)
    }

    /// Whether a conversation was told before that it is not on the list.
    pub fn refused_before(&self, channel: &str, conversation: &str) -> Result<bool, StoreError> {
        let _ = (channel, conversation);
        Err(StoreError::Closed)
    }
}
