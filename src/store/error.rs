//! Why the store refused or failed. Callers branch on the variant, people read the text.

/// Why a read or a write did not happen. Nothing of a failed command is kept.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// Another process holds the data directory.
    #[error("the data directory is in use by {holder}: attach to that process, or stop it first")]
    Locked {
        /// What the lock file says about the holder.
        holder: String,
    },
    /// The database was written by a newer version.
    #[error(
        "the database has schema version {found}, this program knows up to {supported}: use the newer program"
    )]
    Newer {
        /// Version of the file.
        found: i64,
        /// Newest version this program knows.
        supported: i64,
    },
    /// The database was written by an older version and not migrated yet.
    #[error(
        "the database has schema version {found}, this program's is {supported}: start it once to migrate (a copy is kept)"
    )]
    Older {
        /// Version of the file.
        found: i64,
        /// Version of this program.
        supported: i64,
    },
    /// The file is not a database of ours.
    #[error("{0}: choose another data directory; the file was not touched")]
    Foreign(String),
    /// The linked SQLite has a known bug in its write-ahead log.
    #[error("SQLite {0} is too old: 3.51.3 or newer is needed")]
    TooOldSqlite(String),
    /// No such thing.
    #[error("there is no {what} `{id}`")]
    NotFound {
        /// Kind of thing.
        what: &'static str,
        /// Its id or name.
        id: String,
    },
    /// The caller belongs to another boot, or what it holds was taken up by another one.
    #[error("{what}")]
    Fenced {
        /// What was tried.
        what: String,
    },
    /// The thing is in another state than the caller took it for. Names from, to and id.
    #[error("{what}")]
    Conflict {
        /// What was tried.
        what: String,
    },
    /// What somebody asks for is not possible.
    #[error("{what}")]
    Rejected {
        /// What was tried, and the next step.
        what: String,
    },
    /// No caller of ours may ask for this in any state: our fault.
    #[error("{what}")]
    Bug {
        /// What was tried.
        what: String,
    },
    /// The same idempotency key was used with another body.
    #[error("this idempotency key was used before with another body: use a new key")]
    KeyConflict,
    /// The thing changed since it was read.
    #[error("the version has moved on: it is now {current}")]
    VersionConflict {
        /// Version now.
        current: u64,
    },
    /// The disk is full or cannot be read or written. Nothing was stored; try again later.
    #[error("the database cannot be written: {0}")]
    Full(String),
    /// SQLite refused: our fault.
    #[error("database error: {0}")]
    Sqlite(String),
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
    /// Stored data makes no sense.
    #[error("the database holds something unexpected: {0}")]
    Corrupt(String),
}

impl StoreError {
    /// "No such thing".
    pub fn not_found(what: &'static str, id: impl std::fmt::Display) -> Self {
        Self::NotFound {
            what,
            id: id.to_string(),
        }
    }

    /// "Not this boot's any more".
    pub fn fenced(what: impl Into<String>) -> Self {
        Self::Fenced { what: what.into() }
    }

    /// "Moved on meanwhile".
    pub fn conflict(what: impl Into<String>) -> Self {
        Self::Conflict { what: what.into() }
    }

    /// "Not possible".
    pub fn rejected(what: impl Into<String>) -> Self {
        Self::Rejected { what: what.into() }
    }

    /// "A rule of ours is broken".
    pub fn bug(what: impl Into<String>) -> Self {
        Self::Bug { what: what.into() }
    }
}

impl From<serde_json::Error> for StoreError {
    fn from(error: serde_json::Error) -> Self {
        Self::Corrupt(format!("stored JSON: {error}"))
    }
}
