//! From store errors to problems a caller can act on.

use crate::protocol::problem::{Problem, ProblemKind};
use crate::store::error::StoreError;

/// A store error as a problem.
pub fn from_store(error: StoreError) -> Problem {
    match error {
        StoreError::NotFound { what, id } => Problem::not_found(what, id),
        StoreError::Illegal { what } => {
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
        | StoreError::Sqlite(_)
        | StoreError::Corrupt(_) => Problem::internal(error.to_string()),
    }
}
