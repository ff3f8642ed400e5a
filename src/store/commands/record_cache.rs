//! Records who changed what the response cache keeps.

use crate::store::command::{Durability, WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::input::ActorRef;

/// Appends the audit row of a change to the response cache. Durable.
#[derive(Debug, Clone)]
pub struct RecordCache {
    /// `cache.pinned`, `cache.unpinned` or `cache.purged`.
    pub action: &'static str,
    /// Who did it.
    pub by: ActorRef,
    /// The channel concerned.
    pub channel: Option<String>,
    /// The entry's id, or how much went.
    pub subject: String,
    /// Facts, nothing of what was said.
    pub detail: serde_json::Value,
}

impl WriteCommand for RecordCache {
    type Output = ();
    const DURABILITY: Durability = Durability::Durable;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        tx.audit(
            self.action,
            &self.by,
            self.channel.as_deref(),
            &self.subject,
            &self.detail,
        )
    }
}
