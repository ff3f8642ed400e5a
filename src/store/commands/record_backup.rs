//! Records that a backup was written, and that old ones were removed: a backup holds everything that was ever said here.

use crate::clock::Timestamp;
use crate::store::command::{WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::input::ActorRef;
use crate::store::meta;
use crate::store::queries::backups::{LAST_BACKUP, MADE_BACKUPS, MadeBackup, made};
use crate::store::sql::Connection;
use serde_json::json;

/// Appends the audit row of a backup. Durable.
#[derive(Debug, Clone)]
pub struct RecordBackup {
    pub by: ActorRef,
    /// The file.
    pub path: String,
    /// Number of the last event in it.
    pub last_event_seq: u64,
    /// When it was made, as its manifest says.
    pub created_at: Timestamp,
    /// Whether the daemon made it by itself, and removes it some day.
    pub scheduled: bool,
}

fn keep(conn: &Connection, list: &[MadeBackup]) -> Result<(), StoreError> {
    let text = serde_json::to_string(list)
        .map_err(|error| StoreError::Corrupt(format!("the list of backups: {error}")))?;
    meta::set(conn, MADE_BACKUPS, &text)
}

impl WriteCommand for RecordBackup {
    type Output = ();

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        meta::set_time(tx.conn, LAST_BACKUP, self.created_at)?;
        if self.scheduled {
            let mut list = made(tx.conn)?;
            list.retain(|one| one.path != self.path);
            list.push(MadeBackup {
                path: self.path.clone(),
                created_at: self.created_at,
            });
            keep(tx.conn, &list)?;
        }
        let detail = json!({ "path": self.path, "last_event_seq": self.last_event_seq });
        tx.audit("backup.written", &self.by, None, "engine", &detail)
    }
}

/// Takes backups from the list of those that the daemon made, with an audit row. Durable.
#[derive(Debug, Clone)]
pub struct ForgetBackups {
    pub by: ActorRef,
    pub paths: Vec<String>,
}

impl WriteCommand for ForgetBackups {
    type Output = ();

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        let mut list = made(tx.conn)?;
        list.retain(|one| !self.paths.contains(&one.path));
        keep(tx.conn, &list)?;
        let detail = json!({ "paths": self.paths });
        tx.audit("backup.removed", &self.by, None, "engine", &detail)
    }
}
