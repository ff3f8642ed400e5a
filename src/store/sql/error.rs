//! What SQLite's errors mean for the store.

use rusqlite::Connection;

use crate::store::error::StoreError;

/// Extended codes of a failed fsync: the kernel may have dropped the pages, so trying again proves nothing.
const FSYNC_FAILED: [i32; 2] = [
    rusqlite::ffi::SQLITE_IOERR_FSYNC,
    rusqlite::ffi::SQLITE_IOERR_DIR_FSYNC,
];

/// Whether this error says that an fsync failed, after which the process must end.
pub(crate) fn is_fsync_failure(error: &rusqlite::Error) -> bool {
    error
        .sqlite_extended_error_code()
        .is_some_and(|code| FSYNC_FAILED.contains(&code))
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode;
        match error.sqlite_error_code() {
            // A file system that found errors turns read-only under a running process.
            Some(
                ErrorCode::DiskFull
                | ErrorCode::SystemIoFailure
                | ErrorCode::CannotOpen
                | ErrorCode::ReadOnly,
            ) => Self::Full(error.to_string()),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                Self::Corrupt(error.to_string())
            }
            Some(_) => Self::Sqlite(error.to_string()),
            None => match error {
                rusqlite::Error::FromSqlConversionFailure(..)
                | rusqlite::Error::InvalidColumnType(..)
                | rusqlite::Error::IntegralValueOutOfRange(..) => Self::Corrupt(error.to_string()),
                other => Self::Sqlite(other.to_string()),
            },
        }
    }
}

/// Carries out a statement that compares an index of the search with its table; whether they agree.
pub(crate) fn agrees(conn: &Connection, compare: &str) -> Result<bool, StoreError> {
    /// What SQLite says of an index that disagrees: `SQLITE_CORRUPT_VTAB`.
    const DISAGREES: i32 = 267;
    match conn.execute(compare, []) {
        Ok(_) => Ok(true),
        Err(rusqlite::Error::SqliteFailure(error, _)) if error.extended_code == DISAGREES => {
            Ok(false)
        }
        Err(error) => Err(error.into()),
    }
}
