//! Opening the cache's file: ours with this version, or made anew. A file of another program is left alone.

use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::store::integrity::with_ending;
use crate::store::schema::remove_if_there;

/// Marks the file as ours: `LFC1`.
const APPLICATION_ID: i32 = 0x4c46_4331;
/// Version of the tables.
const VERSION: i64 = 2;

/// An open file.
pub(super) struct CacheFile {
    pub(super) conn: Connection,
    /// Device and inode: tells a file that was deleted or replaced.
    identity: (u64, u64),
}

/// Why it is not open.
#[derive(Debug)]
pub(super) enum Fault {
    /// It is worth nothing any more: delete it and make it anew.
    Worthless(String),
    /// It cannot be used now; it may be later.
    Unusable(String),
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                Self::Unusable("another program holds it".to_owned())
            }
            // A statement that fits no table: somebody else's schema.
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::Unknown) => {
                Self::Worthless(error.to_string())
            }
            Some(_) => Self::Unusable(error.to_string()),
            None => Self::Worthless(error.to_string()),
        }
    }
}

/// Deletes the file and what SQLite keeps beside it.
pub(super) fn delete(path: &Path) -> std::io::Result<()> {
    for ending in ["-wal", "-shm", "-journal", ""] {
        remove_if_there(&with_ending(path, ending))?;
    }
    Ok(())
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    let found = std::fs::metadata(path).ok()?;
    Some((found.dev(), found.ino()))
}

impl CacheFile {
    /// Opens the file, or makes it.
    pub(super) fn open(path: &Path) -> Result<Self, Fault> {
        let io = |error: std::io::Error| Fault::Unusable(format!("{}: {error}", path.display()));
        if !path.exists() {
            // What a deleted file left behind belongs to it.
            delete(path).map_err(io)?;
        }
        std::fs::OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path)
            .map_err(io)?;
        let conn = Connection::open_with_flags(
            path,
            OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
        )?;
        conn.busy_timeout(Duration::from_millis(20))?;
        conn.set_prepared_statement_cache_capacity(32);
        let number = |pragma: &str| conn.query_row(pragma, [], |row| row.get::<_, i64>(0));
        let application = number("PRAGMA application_id")?;
        let version = number("PRAGMA user_version")?;
        let tables = number("SELECT count(*) FROM sqlite_schema")?;
        let new = application == 0 && version == 0 && tables == 0;
        if !new && application != i64::from(APPLICATION_ID) {
            return Err(Fault::Unusable(format!(
                "{} is a database of another program: move it away",
                path.display()
            )));
        }
        if !new && version != VERSION {
            return Err(Fault::Worthless(format!(
                "it has version {version}, this program's is {VERSION}"
            )));
        }
        conn.pragma_update(None, "trusted_schema", false)?;
        conn.pragma_update(None, "cell_size_check", true)?;
        // Half a megabyte: what is asked for often stays, and the process stays small.
        conn.pragma_update(None, "cache_size", -512)?;
        // Removed text is gone from the file.
        conn.pragma_update(None, "secure_delete", true)?;
        if new {
            // Nobody misses a file that a loss of power leaves half made: it is made anew.
            conn.pragma_update(None, "synchronous", "OFF")?;
        }
        conn.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
        conn.query_row("PRAGMA journal_size_limit = 4194304", [], |_| Ok(()))?;
        if new {
            conn.execute_batch(&format!(
                "BEGIN IMMEDIATE; {} PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {VERSION}; COMMIT;",
                include_str!("schema.sql")
            ))?;
        }
        // A loss of power may take the last answers, which nobody was promised.
        conn.pragma_update(None, "synchronous", "NORMAL")?;
        let identity = identity(path).ok_or_else(|| {
            Fault::Unusable(format!("{} vanished while it was opened", path.display()))
        })?;
        Ok(Self { conn, identity })
    }

    /// Whether the path still names this file.
    pub(super) fn is_at(&self, path: &Path) -> bool {
        identity(path) == Some(self.identity)
    }
}
