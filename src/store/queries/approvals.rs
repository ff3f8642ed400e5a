//! Approvals, grants and the tokens of cards.

use crate::clock::Timestamp;
use crate::protocol::approval::Approval;
use crate::protocol::ids::{ApprovalId, SessionId};
use crate::protocol::snapshot::{Page, PageRequest};
use crate::protocol::words::{ApprovalState, DecisionWord};
use crate::store::error::StoreError;
use crate::store::reader::Reader;

/// Which approvals.
#[derive(Debug, Clone, Default)]
pub struct ApprovalFilter {
    /// Only this state.
    pub state: Option<ApprovalState>,
}

/// A decision that lets calls of one shape run without asking, for a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// Tool name.
    pub tool: String,
    /// Lower-case hex SHA-256 of the canonical arguments.
    pub args_digest: String,
    /// Whose calls.
    pub requester_id: String,
    /// Label of who granted it.
    pub by: String,
    /// When it ends.
    pub expires_at: Option<Timestamp>,
}

/// What the one-shot token of a button stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardToken {
    /// The approval.
    pub approval_id: ApprovalId,
    /// Revision the button showed.
    pub revision: u32,
    /// What the button says.
    pub decision: DecisionWord,
    /// Digest the button showed.
    pub digest: String,
}

impl Reader<'_> {
    /// Approvals: oldest first when only pending ones are asked for, else newest first.
    pub fn approvals(
        &self,
        filter: &ApprovalFilter,
        page: &PageRequest,
    ) -> Result<Page<Approval>, StoreError> {
        Err(StoreError::Closed)
    }

    /// One approval, with what happened to the last five calls of its tool on its channel.
    pub fn approval(&self, id: ApprovalId) -> Result<Approval, StoreError> {
        Err(StoreError::Closed)
    }

    /// The newest approval with this short code (any case), pending ones first.
    pub fn approval_by_code(&self, short_code: &str) -> Result<Option<Approval>, StoreError> {
        Err(StoreError::Closed)
    }

    /// What a button's token stands for; none = unknown or spent.
    pub fn card_token(&self, token: &str) -> Result<Option<CardToken>, StoreError> {
        Err(StoreError::Closed)
    }

    /// Pending approvals (of the session, of the channel).
    pub fn pending_counts(
        &self,
        session: SessionId,
        channel: &str,
    ) -> Result<(u32, u32), StoreError> {
        Err(StoreError::Closed)
    }

    /// Grants of a session that hold at `now`.
    pub fn grants(&self, session: SessionId, now: Timestamp) -> Result<Vec<Grant>, StoreError> {
        Err(StoreError::Closed)
    }

    /// Until when this person hid the approval.
    pub fn snoozed_until(
        &self,
        id: ApprovalId,
        person_id: &str,
    ) -> Result<Option<Timestamp>, StoreError> {
        Err(StoreError::Closed)
    }

    /// The earliest time at which something expires (approval or temporary level).
    pub fn next_expiry(&self) -> Result<Option<Timestamp>, StoreError> {
        Err(StoreError::Closed)
    }
}
