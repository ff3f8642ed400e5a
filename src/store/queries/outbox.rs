//! Deliveries.

use crate::clock::Timestamp;
use crate::protocol::approval::Approval;
use crate::protocol::ids::{ContinuationId, OutboxId};
use crate::protocol::session::OutboxItem;
use crate::protocol::snapshot::{Page, PageRequest};
use crate::protocol::words::{OutboxClass, OutboxState};
use crate::store::error::StoreError;
use crate::store::reader::Reader;

/// Which deliveries.
#[derive(Debug, Clone, Default)]
pub struct OutboxFilter {
    /// Only this state.
    pub state: Option<OutboxState>,
}

/// A part that may be sent now, with what rendering it needs.
#[derive(Debug, Clone, PartialEq)]
pub struct OutboxRow {
    /// Id.
    pub id: OutboxId,
    /// Channel name.
    pub channel: String,
    /// Conversation key.
    pub conversation: String,
    /// Its continuation.
    pub continuation_id: Option<ContinuationId>,
    /// What for.
    pub class: OutboxClass,
    /// Markdown; empty for cards.
    pub text: String,
    /// The approval a card (or its update) shows, as it stands now.
    pub approval: Option<Approval>,
    /// (label, token) of a card's buttons in order.
    pub buttons: Vec<(String, String)>,
    /// Platform id of the message a card update edits.
    pub target_ref: Option<String>,
    /// Platform id of the message it answers.
    pub reply_to: Option<String>,
    /// 24 hex characters, stable across attempts.
    pub idempotency_key: String,
    /// How often it was handed out before.
    pub attempts: u32,
}

/// What a channel's sender does next.
#[derive(Debug, Clone, PartialEq)]
pub enum NextOutbox {
    /// Send this.
    Row(Box<OutboxRow>),
    /// Nothing before this time.
    Wait(Timestamp),
    /// Nothing waits.
    Empty,
}

impl Reader<'_> {
    /// The oldest part that may be sent: earlier parts of its conversation are out of the way and its
    /// `not_before` has passed.
    pub fn next_outbox(&self, channel: &str, now: Timestamp) -> Result<NextOutbox, StoreError> {
        Err(StoreError::Closed)
    }

    /// Deliveries, newest first.
    pub fn outbox(
        &self,
        filter: &OutboxFilter,
        page: &PageRequest,
    ) -> Result<Page<OutboxItem>, StoreError> {
        Err(StoreError::Closed)
    }

    /// One delivery.
    pub fn delivery(&self, id: OutboxId) -> Result<OutboxItem, StoreError> {
        Err(StoreError::Closed)
    }
}
