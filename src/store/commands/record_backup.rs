//! Records that a backup was written: it holds everything that was ever said here.

use crate::store::command::{Durability, WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::input::ActorRef;
use crate::store::meta;
use serde_json::json;

/// When the newest backup was made, in milliseconds since 1970; in the table `meta`.
pub const LAST_BACKUP: &str = "last_backup";

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
        let made = tx.now.as_millis().to_string();
        meta::set(tx.conn, LAST_BACKUP, &made)?;
        tx.audit(
            "backup.written",
            &self.by,
            None,
            "engine",
            &json!({ "path": self.path, "last_event_seq": self.last_event_seq }),
        )
    }
}
