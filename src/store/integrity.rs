//! What can be wrong with the files of a database before anything is read through them or written to them. Every
//! refusal leaves them as they were.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

use crate::store::error::StoreError;
use crate::store::immutable::immutable_uri;
use crate::store::meta;

/// What to do about a damaged database.
const RESTORE: &str = "restore a backup with `leverframe restore FILE`";
/// A log of this length has no page in it.
const WAL_HEADER: u64 = 32;

/// The path with an ending behind its name.
pub(crate) fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// The write-ahead log of a database.
pub(crate) fn wal_of(path: &Path) -> PathBuf {
    with_ending(path, "-wal")
}

/// Whether there are pages in the log.
pub(crate) fn has_log(path: &Path) -> bool {
    std::fs::metadata(wal_of(path)).is_ok_and(|data| data.len() > WAL_HEADER)
}

/// A database that is gone from a directory that was served before.
pub(crate) fn gone(path: &Path, epoch: u64) -> StoreError {
    StoreError::Corrupt(format!(
        "{} is missing or empty, but this directory was served before (start {epoch}): {RESTORE}, or remove the \
         file `epoch` beside it to begin anew",
        path.display()
    ))
}

/// Says what to do, where the error says that the database is damaged.
pub(crate) fn advise(error: StoreError, path: &Path) -> StoreError {
    match error {
        StoreError::Corrupt(what) if !what.contains("leverframe restore") => {
            StoreError::Corrupt(format!("{}: {what}: {RESTORE}", path.display()))
        }
        other => other,
    }
}

/// Refuses a file that is shorter than it says itself. With pages in the log that proves nothing: a checkpoint may
/// have been cut off, and is done again.
pub(crate) fn refuse_cut(path: &Path) -> Result<(), StoreError> {
    if has_log(path) {
        return Ok(());
    }
    let mut header = [0_u8; 32];
    let io = |error: std::io::Error| StoreError::Full(format!("{}: {error}", path.display()));
    let mut file = match File::open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        file => file.map_err(io)?,
    };
    let length = file.metadata().map_err(io)?.len();
    if file.read_exact(&mut header).is_err() || !header.starts_with(b"SQLite format 3\0") {
        return Ok(());
    }
    let page = match u16::from_be_bytes([header[16], header[17]]) {
        1 => 65_536,
        size => u64::from(size),
    };
    let pages = u64::from(u32::from_be_bytes([
        header[28], header[29], header[30], header[31],
    ]));
    if length < page * pages {
        return Err(StoreError::Corrupt(format!(
            "{} was cut: it has {length} of {} bytes: {RESTORE}",
            path.display(),
            page * pages
        )));
    }
    Ok(())
}

/// Refuses a log that belongs to another database. SQLite itself would apply it. `merged` sees the database through
/// the log.
pub(crate) fn refuse_foreign_log(path: &Path, merged: &Connection) -> Result<(), StoreError> {
    if !has_log(path) {
        return Ok(());
    }
    // A database that never was copied out of its log cannot be told from another; `quick_check` has to do.
    let Some(own) = identity_without_log(path) else {
        return Ok(());
    };
    if meta::get(merged, "identity")? == Some(own) {
        return Ok(());
    }
    Err(StoreError::Corrupt(format!(
        "{} is the log of another database; nothing was changed. Put the right one back, or {RESTORE}",
        wal_of(path).display()
    )))
}

/// The identity in the file itself.
fn identity_without_log(path: &Path) -> Option<String> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(immutable_uri(path), flags).ok()?;
    meta::get(&conn, "identity").ok().flatten()
}
