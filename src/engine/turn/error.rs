//! Why a turn cannot go on.

use crate::store::error::StoreError;

/// Why a driver ended before its turn did.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TurnError {
    /// Another boot has taken the database over.
    #[error("{0}")]
    Fenced(String),
    /// What it was about to change had moved on: cancelled, ended, decided.
    #[error("{0}")]
    Conflict(String),
    /// What it asked for is not possible.
    #[error("{0}")]
    Rejected(String),
    /// The database cannot be used, or is being closed.
    #[error("{0}")]
    Store(String),
    /// A defect of ours.
    #[error("a defect of this program: {0}")]
    Bug(String),
}

impl From<StoreError> for TurnError {
    fn from(error: StoreError) -> Self {
        let text = error.to_string();
        match error {
            StoreError::Fenced { .. } => Self::Fenced(text),
            StoreError::Conflict { .. }
            | StoreError::KeyConflict
            | StoreError::VersionConflict { .. }
            | StoreError::NotFound { .. } => Self::Conflict(text),
            StoreError::Rejected { .. } => Self::Rejected(text),
            StoreError::Locked { .. }
            | StoreError::Newer { .. }
            | StoreError::Older { .. }
            | StoreError::Foreign(_)
            | StoreError::TooOldSqlite(_)
            | StoreError::Full(_)
            | StoreError::Closed
            | StoreError::Corrupt(_) => Self::Store(text),
            StoreError::Bug { .. } | StoreError::Sqlite(_) => Self::Bug(text),
        }
    }
}
