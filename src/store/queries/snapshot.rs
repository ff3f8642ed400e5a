//! One read transaction's view of everything a console starts from.

use crate::clock::Timestamp;
use crate::protocol::approval::Approval;
use crate::protocol::session::{Continuation, OutboxItem, Session, Usage};
use crate::store::error::StoreError;
use crate::store::queries::channels::ChannelRow;
use crate::store::reader::Reader;

/// The rows of a snapshot.
#[derive(Debug, Clone, PartialEq)]
pub struct SnapshotRows {
    /// Every event up to this number is contained.
    pub seq: u64,
    /// Active sessions, newest change first; those with an open continuation all, idle ones at most 200.
    pub sessions: Vec<Session>,
    /// Open continuations, and the newest ended ones (at most 200), newest first.
    pub continuations: Vec<Continuation>,
    /// Pending approvals, oldest first, then the newest others (at most 200).
    pub approvals: Vec<Approval>,
    /// Every channel.
    pub channels: Vec<ChannelRow>,
    /// Deliveries that are unknown or failed, and those under way (at most 200).
    pub deliveries: Vec<OutboxItem>,
    /// Usage since local midnight.
    pub usage_today: Usage,
}

impl Reader<'_> {
    /// Everything at once.
    pub fn snapshot_rows(&self, now: Timestamp) -> Result<SnapshotRows, StoreError> {
        Err(StoreError::Closed)
    }
}
