//! Continuations and their steps.

use crate::protocol::ids::{ContinuationId, SessionId};
use crate::protocol::session::{Continuation, Step};
use crate::protocol::snapshot::{Page, PageRequest};
use crate::protocol::words::ContinuationState;
use crate::store::error::StoreError;
use crate::store::reader::Reader;

/// Which continuations.
#[derive(Debug, Clone, Default)]
pub struct ContinuationFilter {
    /// Only this state.
    pub state: Option<ContinuationState>,
    /// Only this session.
    pub session_id: Option<SessionId>,
}

impl Reader<'_> {
    /// Continuations, newest first.
    pub fn continuations(
        &self,
        filter: &ContinuationFilter,
        page: &PageRequest,
    ) -> Result<Page<Continuation>, StoreError> {
        Err(StoreError::Closed)
    }

    /// One continuation.
    pub fn continuation(&self, id: ContinuationId) -> Result<Continuation, StoreError> {
        Err(StoreError::Closed)
    }

    /// Its steps in order.
    pub fn steps(&self, id: ContinuationId) -> Result<Vec<Step>, StoreError> {
        Err(StoreError::Closed)
    }
}
