//! What becomes of one image: read as it is, then opened by the store, twice.

use std::path::{Path, PathBuf};

use leverframe::clock::Clock;
use leverframe::protocol::ids::{ApprovalId, ContinuationId};
use leverframe::store::Store;
use leverframe::store::check::check;
use leverframe::store::check::check_artifacts;
use leverframe::store::error::StoreError;
use rusqlite::Connection;
use rusqlite::config::DbConfig;

use crate::power_loss::image::Image;
use crate::power_loss::logical::Logical;
use crate::support::world::{START, options};

/// What an image turned out to be.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// What it says, before anything of ours touched it.
    pub raw: Logical,
    /// What outsiders know parts of, before anything of ours touched it.
    pub rows: Rows,
    /// Epoch of the first start on it.
    pub epoch: u64,
    /// Everything that is wrong whatever was promised.
    pub wrong: Vec<String>,
}

/// Rows that outsiders may have been told of.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rows {
    /// (id, text).
    pub continuations: Vec<(String, String)>,
    /// (id, state).
    pub approvals: Vec<(String, String)>,
    /// (class, text) of what was begun to be sent.
    pub begun: Vec<(String, String)>,
}

impl Rows {
    fn read(conn: &Connection) -> rusqlite::Result<Self> {
        let tables: u64 = conn.query_row(
            "SELECT count(*) FROM sqlite_schema WHERE name IN ('continuations', 'approvals', 'outbox')",
            [],
            |row| row.get(0),
        )?;
        if tables < 3 {
            return Ok(Self::default());
        }
        let pairs = |query: &str, id: fn([u8; 16]) -> String| {
            conn.prepare(query)?
                .query_map([], |row| Ok((id(row.get(0)?), row.get(1)?)))?
                .collect::<rusqlite::Result<Vec<(String, String)>>>()
        };
        Ok(Self {
            continuations: pairs("SELECT id, text FROM continuations", |id| {
                ContinuationId::from_bytes(id).to_string()
            })?,
            approvals: pairs("SELECT id, state FROM approvals", |id| {
                ApprovalId::from_bytes(id).to_string()
            })?,
            begun: conn
                .prepare("SELECT class, text FROM outbox WHERE attempts > 0")?
                .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
                .collect::<rusqlite::Result<_>>()?,
        })
    }
}

/// Where images are put: memory where there is some.
pub fn scratch() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let mut builder = tempfile::Builder::new();
    builder.prefix("lf-power-");
    if memory.is_dir()
        && let Ok(dir) = builder.tempdir_in(memory)
    {
        return dir;
    }
    builder.tempdir().unwrap()
}

fn read_raw(dir: &Path) -> Result<(Logical, Rows), String> {
    let path = dir.join("leverframe.db");
    if !path.exists() {
        return Ok(Default::default());
    }
    let read = || -> rusqlite::Result<(String, (Logical, Rows))> {
        let conn = Connection::open(&path)?;
        conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        let verdict = conn.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
        Ok((verdict, (Logical::read(&conn)?, Rows::read(&conn)?)))
    };
    match read() {
        Ok((verdict, read)) if verdict == "ok" => Ok(read),
        Ok((verdict, _)) => Err(format!("quick_check: {verdict}")),
        Err(error) => Err(format!("SQLite cannot read it: {error}")),
    }
}

struct Start {
    epoch: u64,
    quarantine: bool,
    violations: Vec<String>,
    logical: Logical,
}

async fn start(dir: &Path) -> Result<Start, StoreError> {
    let clock = Clock::manual(START.plus_seconds(3000));
    let opened = Store::open(options(dir, &clock))?;
    let violations = opened
        .store
        .read_here(|reader| {
            let mut violations = check(reader)?;
            violations.extend(check_artifacts(reader, dir)?);
            Ok(violations)
        })
        .await?;
    let logical = opened
        .store
        .with_writer(Logical::read)
        .await?
        .map_err(StoreError::from)?;
    let start = Start {
        epoch: opened.recovery.epoch,
        quarantine: opened.recovery.quarantine,
        violations: violations
            .into_iter()
            .map(|violation| format!("{}: {}", violation.invariant, violation.detail))
            .collect(),
        logical,
    };
    opened.store.close().await;
    Ok(start)
}

/// Examines images, one after another.
pub struct Examiner {
    scratch: tempfile::TempDir,
    runtime: tokio::runtime::Runtime,
    /// Where the data directory lies in an image.
    below: PathBuf,
    made: u64,
}

impl Examiner {
    pub fn new(below: PathBuf) -> Self {
        Self {
            scratch: scratch(),
            runtime: tokio::runtime::Builder::new_current_thread()
                .build()
                .unwrap(),
            below,
            made: 0,
        }
    }

    /// What an image is. `twice` = a second start is tried too.
    pub fn examine(&mut self, image: &Image, twice: bool) -> Found {
        self.made += 1;
        let dir = self.scratch.path().join(self.made.to_string());
        let (as_it_is, started) = (dir.join("raw"), dir.join("data"));
        image.write(&self.below, &as_it_is).unwrap();
        image.write(&self.below, &started).unwrap();
        let mut wrong = Vec::new();
        let (raw, rows) = read_raw(&as_it_is).unwrap_or_else(|why| {
            wrong.push(why);
            Default::default()
        });
        let mut epoch = 0;
        match self.runtime.block_on(start(&started)) {
            Err(error) => wrong.push(format!("the store does not open: {error}")),
            Ok(first) => {
                epoch = first.epoch;
                wrong.extend(first.violations);
                if first.quarantine {
                    wrong.push("taken for a restored copy (I20)".to_owned());
                }
                if twice {
                    match self.runtime.block_on(start(&started)) {
                        Err(error) => wrong.push(format!("it does not open again: {error}")),
                        Ok(second) => {
                            wrong.extend(second.violations);
                            if second.quarantine {
                                wrong.push(
                                    "taken for a restored copy at the second start (I20)"
                                        .to_owned(),
                                );
                            }
                            if second.epoch <= first.epoch {
                                wrong.push(format!(
                                    "epoch {} after {} (I6)",
                                    second.epoch, first.epoch
                                ));
                            }
                            if second.logical.work != first.logical.work {
                                wrong.push(
                                    "a second start changed what the first had settled (I30)"
                                        .to_owned(),
                                );
                            }
                        }
                    }
                }
            }
        }
        std::fs::remove_dir_all(&dir).unwrap();
        Found {
            raw,
            rows,
            epoch,
            wrong,
        }
    }
}
