//! A database looked at without taking it over: no epoch, no recovery, no lock, nothing written.
//!
//! SQLite would leave a write-ahead log and its index beside a file it only reads. A database that was closed
//! cleanly has neither, and is read as an immutable file; where a log is left from a crash, the index that reading
//! it made is taken away again, unless a process has taken the directory over meanwhile.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

use crate::store::error::StoreError;
use crate::store::files::held_by;
use crate::store::immutable::immutable_uri;
use crate::store::reader::{Reader, in_read_transaction};
use crate::store::schema::{self, DatabaseFile, SCHEMA_VERSION};

/// A database opened for reading only.
#[derive(Debug)]
pub struct Offline {
    conn: Option<Connection>,
    path: PathBuf,
    /// Files beside it that were not there before.
    litter: Vec<PathBuf>,
    size: u64,
    immutable: bool,
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

impl Offline {
    /// Opens a database file of ours with exactly this program's schema.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] where there is no file or nothing in it, [`StoreError::Foreign`] for a file of another
    /// program or none of SQLite's, [`StoreError::Newer`] and [`StoreError::Older`] for other schemas. The file is
    /// not touched in any case.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let missing = || StoreError::not_found("database", path.display());
        let about = match std::fs::metadata(path) {
            Ok(about) => about,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Err(missing()),
            Err(error) => return Err(StoreError::Full(format!("{}: {error}", path.display()))),
        };
        if !about.is_file() {
            return Err(StoreError::Foreign(format!(
                "{} is not a file",
                path.display()
            )));
        }
        let logs = [beside(path, "-wal"), beside(path, "-shm")];
        let log_left = std::fs::metadata(&logs[0]).is_ok_and(|log| log.len() > 0);
        let in_use = logs[1].exists();
        if about.len() == 0 && !log_left {
            return Err(missing());
        }
        let litter: Vec<PathBuf> = logs.into_iter().filter(|path| !path.exists()).collect();
        let immutable = !log_left && !in_use;
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let conn = if immutable {
            Connection::open_with_flags(immutable_uri(path), flags | OpenFlags::SQLITE_OPEN_URI)?
        } else {
            Connection::open_with_flags(path, flags)?
        };
        let offline = Self {
            conn: Some(conn),
            path: path.to_owned(),
            litter,
            size: about.len(),
            immutable,
        };
        offline.with(|conn| {
            schema::common_pragmas(conn)?;
            match schema::identify(conn, path)? {
                DatabaseFile::New => Err(missing()),
                DatabaseFile::Ours(version) if version < SCHEMA_VERSION => Err(StoreError::Older {
                    found: version,
                    supported: SCHEMA_VERSION,
                }),
                DatabaseFile::Ours(_) => Ok(()),
            }
        })?;
        Ok(offline)
    }

    fn with<T>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        read(self.conn.as_ref().ok_or(StoreError::Closed)?)
    }

    /// Runs a closure in one read transaction.
    pub fn read<T>(
        &self,
        query: impl FnOnce(&Reader<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.with(|conn| in_read_transaction(conn, query))
    }

    /// Whether a process began to write the file while it was read as one that nobody writes: what was read may
    /// then be a mixture.
    pub fn was_disturbed(&self) -> bool {
        self.immutable
            && (beside(&self.path, "-wal").exists()
                || std::fs::metadata(&self.path).map_or(true, |about| about.len() != self.size))
    }
}

impl Drop for Offline {
    fn drop(&mut self) {
        drop(self.conn.take());
        let taken_over = self.path.parent().is_some_and(|dir| held_by(dir).is_some());
        if taken_over {
            return;
        }
        for path in &self.litter {
            // Most often it is not there.
            let _ = std::fs::remove_file(path);
        }
    }
}
