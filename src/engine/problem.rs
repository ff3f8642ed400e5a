//! From store errors to problems a caller can act on.

use crate::protocol::problem::{Problem, ProblemKind};
use crate::store::backup::BackupError;
use crate::store::error::StoreError;
use crate::store::restore::RestoreError;

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NotFound { what, id } => Problem::not_found(what, id),
            StoreError::Fenced { what }
            | StoreError::Conflict { what }
            | StoreError::Rejected { what } => Problem::not_offered("not possible now", what),
            StoreError::KeyConflict => Problem::conflict(
                "idempotency key reused",
                "this idempotency key was used before with another body",
            )
            .hint("use a new key for a new message; repeat the same body to repeat a request"),
            StoreError::VersionConflict { current } => Problem::conflict(
                "the policy changed",
                format!("it is at version {current} now"),
            )
            .hint("read the channel again and repeat with its version"),
            StoreError::Full(detail) => Problem::unavailable("the store cannot write", detail)
                .hint("free disk space; nothing was changed and nothing was acknowledged"),
            StoreError::Closed => Problem::unavailable("shutting down", "the engine is stopping"),
            StoreError::Locked { .. }
            | StoreError::Newer { .. }
            | StoreError::Older { .. }
            | StoreError::Foreign(_)
            | StoreError::TooOldSqlite(_)
            | StoreError::Bug { .. }
            | StoreError::Sqlite(_)
            | StoreError::Corrupt(_) => Problem::internal(error.to_string()),
        }
    }
}

impl From<BackupError> for Problem {
    fn from(error: BackupError) -> Self {
        let detail = error.to_string();
        match error {
            BackupError::Exists(_) => Problem::conflict("the file exists", detail)
                .hint("nothing was written; name another file, or remove that one first"),
            BackupError::Place { .. } => Problem::new(
                ProblemKind::Invalid,
                "no backup can be written there",
                detail,
            )
            .hint("name a file in a directory that this user can write to"),
            BackupError::Full(_) => Problem::unavailable("the disk is full", detail).hint(
                "nothing was changed and what was begun is gone; free space or name another disk",
            ),
            BackupError::Nothing(_) => {
                Problem::new(ProblemKind::NotFound, "nothing to back up", detail)
                    .hint("name the data directory with --data-dir")
            }
            BackupError::Damaged(_) => Problem::new(ProblemKind::Internal, "not sound", detail),
            BackupError::Store(StoreError::Locked { .. }) => Problem::conflict("in use", detail),
            BackupError::Store(error) => Self::from(error),
        }
    }
}

impl From<RestoreError> for Problem {
    fn from(error: RestoreError) -> Self {
        let detail = error.to_string();
        match error {
        RestoreError::NotABackup { .. } => {
            Problem::new(ProblemKind::Internal, "cannot be restored", detail)
                .hint("nothing was changed; try another backup")
        }
        RestoreError::Newer { .. } => {
            Problem::new(ProblemKind::Internal, "cannot be restored", detail)
                .hint("nothing was changed")
        }
        RestoreError::InUse(_) => Problem::conflict("in use", detail)
            .hint("nothing was changed; stop that process first, then restore"),
        RestoreError::Occupied(_) => Problem::conflict("a database is there", detail)
            .hint("nothing was changed; --force moves the data directory aside (it is never deleted), --data-dir names another"),
        RestoreError::Place { .. } => {
            Problem::new(ProblemKind::Invalid, "cannot be restored there", detail)
                .hint("nothing was changed")
        }
        RestoreError::Full(_) => Problem::unavailable("the disk is full", detail)
            .hint("nothing was changed and what was unpacked is gone"),
        RestoreError::Store(error) => Self::from(error),
    }
    }
}
