//! Which backups were made.

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::store::error::StoreError;
use crate::store::meta;
use crate::store::reader::Reader;
use crate::store::sql::Connection;

/// When the newest backup was made, in milliseconds since 1970; in the table `meta`.
pub(crate) const LAST_BACKUP: &str = "last_backup";
/// The backups that the daemon made by itself, as JSON; in the table `meta`.
pub(crate) const MADE_BACKUPS: &str = "made_backups";

/// A backup that the daemon made by itself, and that nobody removed as far as it knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MadeBackup {
    /// The file.
    pub path: String,
    /// When, as its manifest says.
    pub created_at: Timestamp,
}

/// The list of the database.
pub(crate) fn made(conn: &Connection) -> Result<Vec<MadeBackup>, StoreError> {
    match meta::get(conn, MADE_BACKUPS)? {
        None => Ok(Vec::new()),
        Some(text) => serde_json::from_str(&text)
            .map_err(|error| StoreError::Corrupt(format!("the list of backups: {error}"))),
    }
}

impl Reader<'_> {
    /// Backups that the daemon made by itself, oldest first.
    pub fn made_backups(&self) -> Result<Vec<MadeBackup>, StoreError> {
        made(self.conn)
    }

    /// When the newest backup was made, by whomever; none = none is known.
    pub fn newest_backup(&self) -> Result<Option<Timestamp>, StoreError> {
        meta::time(self.conn, LAST_BACKUP)
    }
}
