//! Records that a backup was written: it holds everything that was ever said here.

use crate::store::command::{Durability, WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::input::ActorRef;
use serde_json::json;

/// Appends the audit row of a backup. Durable.
#[derive(Debug, Clone)]
pub struct RecordBackup {
    /// Who asked for it.
    pub by: ActorRef,
    /// The file.
    pub path: String,
    /// Number of the last event in it.
    pub last_event_seq: u64,
}

impl WriteCommand for RecordBackup {
    type Output = ();
    const DURABILITY: Durability = Durability::Durable;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        tx.audit(
            "backup.written",
            &self.by,
            None,
            "engine",
            &json!({ "path": self.path, "last_event_seq": self.last_event_seq }),
        )
    }
}
