//! What the files of a data directory say without opening the database: sizes, holder, side-car, room.

use std::path::{Path, PathBuf};

use crate::clock::{Day, Timestamp};
use crate::protocol::hex::hex;
use crate::protocol::hygiene::HygieneRun;
use crate::protocol::snapshot::PageRequest;
use crate::store::archive_files::days;
use crate::store::audit_chain::AuditHead;
use crate::store::error::StoreError;
use crate::store::integrity::wal_of;
use crate::store::meta;
use crate::store::ownership::read_sidecar;
use crate::store::queries::channels::held;
use crate::store::reader::Reader;
use crate::store::sql::{Statements, columns};

/// The files of a data directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileFacts {
    pub database: PathBuf,
    /// Its size in bytes; none = it is not there.
    pub size: Option<u64>,
    /// Size of the write-ahead log in bytes.
    pub log_size: u64,
    /// Bytes that can still be written on its file system, when it says so.
    pub free: Option<u64>,
    /// The epoch the side-car knows; none = there is no side-car (or no readable one).
    pub sidecar_epoch: Option<u64>,
    /// Days of the event archive: the oldest, how many, and their bytes; none = there is no archive.
    pub archive: Option<(Day, usize, u64)>,
    /// What the holder of the directory says about itself; none = nobody holds it.
    pub holder: Option<String>,
}

/// What the database says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseFacts {
    /// Schema version.
    pub schema: i64,
    /// Epoch of the last start.
    pub epoch: u64,
    /// Whether it waits for release after a restore.
    pub quarantine: bool,
    /// Since when, and why, an emergency stop holds the engine.
    pub held: Option<(Timestamp, String)>,
    /// Starts after a crash, one close behind the other.
    pub crash_starts: Vec<Timestamp>,
    /// Time of the newest event.
    pub newest_event_at: Option<Timestamp>,
    /// Number of the newest audit row; 0 = there is none.
    pub audit_seq: u64,
    /// Its hash, lower-case hex.
    pub audit_hash: String,
    /// The newest run of hygiene.
    pub hygiene: Option<HygieneRun>,
    /// When one ended last that was not cut short.
    pub last_hygiene: Option<Timestamp>,
    /// What is remembered: (memories, archived ones, embeddings).
    pub remembered: (u64, u64, u64),
}

/// Who holds a data directory; none = nobody, or it has never been served.
pub fn held_by(dir: &Path) -> Option<String> {
    let path = dir.join("leverframe.lock");
    let file = std::fs::File::open(&path).ok()?;
    match file.try_lock_shared() {
        // Given back at once when the file is closed.
        Ok(()) | Err(std::fs::TryLockError::Error(_)) => None,
        Err(std::fs::TryLockError::WouldBlock) => {
            let line = std::fs::read_to_string(&path).unwrap_or_default();
            let line = line.trim();
            Some(if line.is_empty() {
                "another process".to_owned()
            } else {
                line.chars().take(200).collect()
            })
        }
    }
}

/// The process that holds a data directory, as it wrote into the lock file; none = nobody holds it.
pub fn holding_process(dir: &Path) -> Option<i32> {
    let holder = held_by(dir)?;
    let words = holder.strip_prefix("process ")?;
    words.split_whitespace().next()?.parse().ok()
}

fn size(path: &Path) -> Option<u64> {
    std::fs::metadata(path).ok().map(|about| about.len())
}

/// Sizes in bytes of a database and of what is around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// The database; none = it is not there.
    pub size: Option<u64>,
    /// The write-ahead log.
    pub log_size: u64,
    /// What can still be written on its file system, when it says so.
    pub free: Option<u64>,
}

/// Asks for the sizes and for nothing else.
pub fn sizes(database: &Path) -> Sizes {
    Sizes {
        size: size(database),
        log_size: size(&wal_of(database)).unwrap_or(0),
        free: rustix::fs::statvfs(database.parent().unwrap_or(Path::new("/")))
            .ok()
            .map(|about| about.f_bavail.saturating_mul(about.f_frsize)),
    }
}

/// Looks at the files around a database.
pub fn look(database: &Path) -> FileFacts {
    let dir = database.parent().unwrap_or(Path::new("/"));
    let Sizes {
        size,
        log_size,
        free,
    } = sizes(database);
    FileFacts {
        database: database.to_owned(),
        size,
        log_size,
        free,
        sidecar_epoch: read_sidecar(&dir.join("epoch"))
            .ok()
            .flatten()
            .map(|car| car.epoch),
        archive: days(dir).ok().and_then(|days| {
            let bytes = days.iter().map(|day| day.size).sum();
            Some((days.first()?.day, days.len(), bytes))
        }),
        holder: held_by(dir),
    }
}

impl Reader<'_> {
    /// What the database says about itself.
    pub fn database_facts(&self) -> Result<DatabaseFacts, StoreError> {
        let head = AuditHead::load(self.conn)?;
        let starts = meta::get(self.conn, "starts")?;
        let schema: i64 = self.conn.value("PRAGMA user_version", [])?;
        // A database that was not migrated yet has none of it.
        let has_memory = schema >= 4;
        Ok(DatabaseFacts {
            schema,
            epoch: meta::number(self.conn, "epoch")?.unwrap_or(0),
            quarantine: meta::quarantined(self.conn)?,
            held: held(self.conn)?,
            crash_starts: starts
                .and_then(|text| serde_json::from_str::<Vec<i64>>(&text).ok())
                .unwrap_or_default()
                .into_iter()
                .map(Timestamp)
                .collect(),
            newest_event_at: self
                .conn
                .value_opt("SELECT at FROM events ORDER BY seq DESC LIMIT 1", [])?,
            audit_seq: head.seq,
            audit_hash: hex(&head.hash),
            hygiene: if has_memory {
                let newest = PageRequest {
                    limit: Some(1),
                    cursor: None,
                };
                self.hygiene_runs(&newest)?.items.into_iter().next()
            } else {
                None
            },
            last_hygiene: meta::time(self.conn, "last_hygiene")?,
            remembered: if has_memory {
                self.conn.row(
                    "SELECT count(*) AS kept, (SELECT count(*) FROM memories WHERE state = 'archived') AS archived,
                        (SELECT count(*) FROM memory_vectors) AS vectors FROM memories",
                    [],
                    columns!(kept, archived, vectors),
                )?
            } else {
                (0, 0, 0)
            },
        })
    }
}
