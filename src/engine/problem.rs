//! From store errors to problems a caller can act on.

use crate::protocol::problem::{Problem, ProblemKind};
use crate::store::backup::BackupError;
use crate::store::error::StoreError;
use crate::store::restore::RestoreError;

/// A store error as a problem.
pub fn from_store(error: StoreError) -> Problem {
    match error {
        StoreError::NotFound { what, id } => Problem::not_found(what, id),
        StoreError::Fenced { what }
        | StoreError::Conflict { what }
        | StoreError::Rejected { what } => {
            Problem::new(ProblemKind::NotOffered, "not possible now", what)
        }
        StoreError::KeyConflict => Problem::new(
            ProblemKind::Conflict,
            "idempotency key reused",
            "this idempotency key was used before with another body",
        )
        .hint("use a new key for a new message; repeat the same body to repeat a request"),
        StoreError::VersionConflict { current } => Problem::new(
            ProblemKind::Conflict,
            "the policy changed",
            format!("it is at version {current} now"),
        )
        .hint("read the channel again and repeat with its version"),
        StoreError::Full(detail) => {
            Problem::new(ProblemKind::Unavailable, "the store cannot write", detail)
                .hint("free disk space; nothing was changed and nothing was acknowledged")
        }
        StoreError::Closed => Problem::new(
            ProblemKind::Unavailable,
            "shutting down",
            "the engine is stopping",
        ),
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

/// Why there is no backup, as a problem.
pub fn from_backup(error: BackupError) -> Problem {
    let detail = error.to_string();
    match error {
        BackupError::Exists(_) => Problem::new(ProblemKind::Conflict, "the file exists", detail)
            .hint("nothing was written; name another file, or remove that one first"),
        BackupError::Place { .. } => Problem::new(
            ProblemKind::Invalid,
            "no backup can be written there",
            detail,
        )
        .hint("name a file in a directory that this user can write to"),
        BackupError::Full(_) => Problem::new(ProblemKind::Unavailable, "the disk is full", detail)
            .hint(
                "nothing was changed and what was begun is gone; free space or name another disk",
            ),
        BackupError::Nothing(_) => {
            Problem::new(ProblemKind::NotFound, "nothing to back up", detail)
                .hint("name the data directory with --data-dir")
        }
        BackupError::Damaged(_) => Problem::new(ProblemKind::Internal, "not sound", detail),
        BackupError::Store(StoreError::Locked { .. }) => {
            Problem::new(ProblemKind::Conflict, "in use", detail)
        }
        BackupError::Store(error) => from_store(error),
    }
}

/// Why nothing was restored, as a problem.
pub fn from_restore(error: RestoreError) -> Problem {
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
        RestoreError::InUse(_) => Problem::new(ProblemKind::Conflict, "in use", detail)
            .hint("nothing was changed; stop that process first, then restore"),
        RestoreError::Occupied(_) => Problem::new(ProblemKind::Conflict, "a database is there", detail)
            .hint("nothing was changed; --force moves the data directory aside (it is never deleted), --data-dir names another"),
        RestoreError::Place { .. } => {
            Problem::new(ProblemKind::Invalid, "cannot be restored there", detail)
                .hint("nothing was changed")
        }
        RestoreError::Full(_) => Problem::new(ProblemKind::Unavailable, "the disk is full", detail)
            .hint("nothing was changed and what was unpacked is gone"),
        RestoreError::Store(error) => from_store(error),
    }
}
