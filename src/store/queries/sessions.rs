//! Sessions and their transcripts.

use crate::protocol::ids::SessionId;
use crate::protocol::session::{Session, TranscriptEntry};
use crate::protocol::snapshot::{Page, PageRequest};
use crate::protocol::words::SessionState;
use crate::store::error::StoreError;
use crate::store::reader::Reader;

/// Which sessions.
#[derive(Debug, Clone, Default)]
pub struct SessionFilter {
    /// Only this state.
    pub state: Option<SessionState>,
    /// Only this channel.
    pub channel: Option<String>,
}

impl Reader<'_> {
    /// Sessions, newest change first.
    pub fn sessions(
        &self,
        filter: &SessionFilter,
        page: &PageRequest,
    ) -> Result<Page<Session>, StoreError> {
        Err(StoreError::Closed)
    }

    /// One session.
    pub fn session(&self, id: SessionId) -> Result<Session, StoreError> {
        Err(StoreError::Closed)
    }

    /// The newest `limit` (1–500, default 100) entries before a position, oldest first; `next_cursor` is the
    /// position to pass as `before` for older ones.
    pub fn transcript(
        &self,
        session: SessionId,
        before: Option<u64>,
        limit: Option<u32>,
    ) -> Result<Page<TranscriptEntry>, StoreError> {
        Err(StoreError::Closed)
    }

    /// The newest sessions of a conversation in which this person asked, newest first: for `/sessions`.
    pub fn conversation_sessions(
        &self,
        channel: &str,
        conversation: &str,
        requester_id: &str,
        limit: u32,
    ) -> Result<Vec<Session>, StoreError> {
        Err(StoreError::Closed)
    }

    /// The active session of a conversation.
    pub fn active_session(
        &self,
        channel: &str,
        conversation: &str,
    ) -> Result<Option<SessionId>, StoreError> {
        Err(StoreError::Closed)
    }

    /// Sessions that have a pending continuation.
    pub fn sessions_with_pending(&self) -> Result<Vec<SessionId>, StoreError> {
        Err(StoreError::Closed)
    }
}
