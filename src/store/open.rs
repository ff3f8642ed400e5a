//! Taking a data directory: lock, identity, epoch side-car, migration, recovery. In this order, and nothing
//! is served before the last step is durable.

use std::fs::{File, OpenOptions as FileOptions};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use rusqlite::config::DbConfig;
use tokio::sync::{Semaphore, broadcast, mpsc, watch};

use crate::clock::Timestamp;
use crate::store::artifacts::ArtifactFiles;
use crate::store::audit::AuditHead;
use crate::store::command::{Durability, WriteTx};
use crate::store::commands::quarantine::COPY_MARK;
use crate::store::commands::recover::{Recover, Recovery};
use crate::store::damage;
use crate::store::error::StoreError;
use crate::store::event_log::epoch_base;
use crate::store::schema::{self, Found};
use crate::store::sql::Statements;
use crate::store::writer::parking::Slot;
use crate::store::writer::{QUEUE_CAPACITY, Shared, Writer};
use crate::store::{Inner, OpenOptions, Opened, Store};

/// Events a subscriber may lag behind.
const EVENT_CAPACITY: usize = 4096;

fn io(path: &Path, error: &std::io::Error) -> StoreError {
    StoreError::Full(format!("{}: {error}", path.display()))
}

/// Longest wait for a lock that is about to be let go.
const LOCK_PATIENCE: Duration = Duration::from_millis(500);

/// Tries to take a lock for a short while. A process that just ended, and a program it was starting at that moment
/// (which inherits the lock until it runs), hold it for some milliseconds more.
fn try_lock_patiently(file: &File) -> Result<(), std::fs::TryLockError> {
    let deadline = Instant::now() + LOCK_PATIENCE;
    loop {
        match file.try_lock() {
            Err(std::fs::TryLockError::WouldBlock) if Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(10));
            }
            outcome => return outcome,
        }
    }
}

/// Takes the lock file, or says who holds it.
pub(crate) fn take_lock(path: &Path, instance: &str) -> Result<File, StoreError> {
    let mut file = FileOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
        .map_err(|error| io(path, &error))?;
    match try_lock_patiently(&file) {
        Ok(()) => {}
        Err(std::fs::TryLockError::WouldBlock) => {
            let mut holder = String::new();
            // The holder's line is a courtesy; a lock without it is as firm.
            let _ = file.read_to_string(&mut holder);
            let holder = holder.trim();
            return Err(StoreError::Locked {
                holder: if holder.is_empty() {
                    "another process".to_owned()
                } else {
                    holder.chars().take(200).collect()
                },
            });
        }
        Err(std::fs::TryLockError::Error(error)) => return Err(io(path, &error)),
    }
    file.set_len(0)
        .and_then(|()| file.rewind())
        .and_then(|()| writeln!(file, "process {} ({instance})", std::process::id()))
        .map_err(|error| io(path, &error))?;
    Ok(file)
}

/// What the side-car says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sidecar {
    pub(crate) epoch: u64,
    /// Last event at a clean end.
    last_seq: Option<u64>,
}

pub(crate) fn read_sidecar(path: &Path) -> Result<Option<Sidecar>, StoreError> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io(path, &error)),
    };
    let mut words = text.split_whitespace();
    let epoch = words.next().and_then(|word| word.parse().ok());
    // An unreadable side-car proves as little as a missing one.
    Ok(epoch.map(|epoch| Sidecar {
        epoch,
        last_seq: words.next().and_then(|word| word.parse().ok()),
    }))
}

/// Writes the side-car durably: temporary file, fsync, rename, fsync of the directory.
pub(crate) fn write_sidecar(
    path: &Path,
    epoch: u64,
    last_seq: Option<u64>,
) -> Result<(), StoreError> {
    let temporary = path.with_extension("new");
    let write = || -> std::io::Result<()> {
        let mut file = FileOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&temporary)?;
        match last_seq {
            Some(seq) => writeln!(file, "{epoch} {seq}")?,
            None => writeln!(file, "{epoch}")?,
        }
        if !crate::mutant!("sidecar_fsync") {
            file.sync_all()?;
        }
        std::fs::rename(&temporary, path)?;
        if let Some(directory) = path.parent() {
            File::open(directory)?.sync_all()?;
        }
        Ok(())
    };
    write().map_err(|error| io(path, &error))
}

/// Makes the names on the way to a directory durable: a file is lost with a directory that is. Only the first start
/// needs it, but not only for directories it made itself: an earlier one may have made them and died.
fn sync_directories(directory: &Path) -> std::io::Result<()> {
    use std::io::ErrorKind;
    for directory in std::fs::canonicalize(directory)?.ancestors() {
        let file = match File::open(directory) {
            Ok(file) => file,
            // What we may not read, we cannot have made.
            Err(error) if error.kind() == ErrorKind::PermissionDenied => continue,
            Err(error) => return Err(error),
        };
        match file.sync_all() {
            Err(error)
                if !matches!(
                    error.kind(),
                    ErrorKind::InvalidInput
                        | ErrorKind::Unsupported
                        | ErrorKind::ReadOnlyFilesystem
                ) =>
            {
                return Err(error);
            }
            // Some file systems cannot and need not.
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

/// Whether the database is older than what this directory has seen: a restored copy.
fn is_restored(found: Found, stored: u64, newest_event: u64, sidecar: Option<Sidecar>) -> bool {
    match (found, sidecar) {
        (Found::New, None) => false,
        (Found::Ours(_), None) => true,
        (_, Some(sidecar)) => {
            stored < sidecar.epoch
                || (stored == sidecar.epoch
                    && sidecar.last_seq.is_some_and(|seq| newest_event < seq))
        }
    }
}

/// The newest time in the database. Every start leaves an audit row, so there is one after the first.
fn newest_time(conn: &Connection) -> Result<Timestamp, StoreError> {
    conn.value(
        "SELECT max(coalesce((SELECT at FROM events ORDER BY seq DESC LIMIT 1), 0),
                    coalesce((SELECT at FROM audit ORDER BY seq DESC LIMIT 1), 0))",
        [],
    )
}

/// Runs recovery in one durable transaction, before anybody else can write.
fn recover(
    conn: &Connection,
    epoch: u64,
    now: Timestamp,
    quarantine: bool,
) -> Result<(Recovery, AuditHead, u64), StoreError> {
    conn.execute_batch("BEGIN IMMEDIATE")?;
    let mut tx = WriteTx {
        conn,
        now,
        epoch,
        last_seq: epoch_base(epoch),
        audit: AuditHead::load(conn)?,
        staged: Vec::new(),
    };
    let result = schema::ensure_identity(conn).and_then(|()| Recover { quarantine }.apply(&mut tx));
    let (audit, last_seq) = (tx.audit, tx.last_seq);
    match result {
        Ok(recovery) => {
            conn.execute_batch("COMMIT")?;
            crate::crash_point!("recover.post");
            Ok((recovery, audit, last_seq))
        }
        Err(error) => {
            conn.execute_batch("ROLLBACK")?;
            Err(error)
        }
    }
}

/// Opens a data directory. See [`Store::open`].
pub(crate) fn open(options: &OpenOptions) -> Result<Opened, StoreError> {
    take(options).map_err(|error| damage::advise(error, &options.dir.join("leverframe.db")))
}

fn take(options: &OpenOptions) -> Result<Opened, StoreError> {
    schema::assert_sqlite()?;
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&options.dir)
        .map_err(|error| io(&options.dir, &error))?;
    let lock = take_lock(&options.dir.join("leverframe.lock"), &options.instance)?;
    let path = options.dir.join("leverframe.db");
    let sidecar_path = options.dir.join("epoch");
    let sidecar = read_sidecar(&sidecar_path)?;
    damage::refuse_cut(&path)?;
    let found = schema::inspect(&path)?;
    if let Found::New = found
        && let Some(Sidecar { epoch, .. }) = sidecar
        && epoch > 0
    {
        return Err(damage::gone(&path, epoch));
    }
    let logged = damage::has_log(&path);
    if found == Found::New && std::fs::metadata(&path).map_or(0, |data| data.len()) == 0 {
        schema::create(&path)?;
    }
    let conn = schema::open_writer(&path, found)?;
    let number = |key: &str| -> Result<u64, StoreError> {
        Ok(schema::meta(&conn, key)?
            .and_then(|text| text.parse().ok())
            .unwrap_or(0))
    };
    let stored = number("epoch")?;
    // A clean end leaves an empty log, unless it could not be emptied.
    let unclean = logged || schema::meta(&conn, "clean")?.is_none();
    if matches!(found, Found::Ours(_)) && unclean {
        let verdict: String = conn.value("PRAGMA quick_check(1)", [])?;
        if verdict != "ok" {
            // The files stay as they are, for whoever looks into them.
            conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
            return Err(StoreError::Corrupt(verdict));
        }
    }
    let newest_event: u64 = conn
        .value::<Option<u64>>("SELECT max(seq) FROM events", [])?
        .unwrap_or(0);
    // A database that never was served has no epoch: a start that died before recovery left it.
    let known = if stored == 0 { Found::New } else { found };
    if known == Found::New {
        sync_directories(&options.dir).map_err(|error| io(&options.dir, &error))?;
    }
    let restored = is_restored(known, stored, newest_event, sidecar)
        || schema::meta(&conn, COPY_MARK)?.is_some();
    if known == Found::New && sidecar.is_none() {
        // So that a first start that dies behind recovery is not taken for a copy without its side-car.
        write_sidecar(&sidecar_path, 0, None)?;
    }
    let epoch = stored.max(sidecar.map_or(0, |sidecar| sidecar.epoch)) + 1;
    // A clock that was set back while nobody ran is as little believed as one that is set back meanwhile.
    let newest = newest_time(&conn)?;
    options.clock.not_before(newest);
    let newest = options.clock.now().max(newest);
    let (recovery, audit, last_seq) = recover(&conn, epoch, newest, restored)?;
    // After the database: were it the other way round, a crash between the two would look like a restore.
    write_sidecar(&sidecar_path, epoch, None)?;
    crate::store::anchors::note(&options.dir, options.clock.now(), epoch, &audit, restored);

    let (events, _) = broadcast::channel(EVENT_CAPACITY);
    let shared = Arc::new(Shared {
        epoch,
        last_seq: AtomicU64::new(last_seq),
        problem: watch::Sender::new(None),
        events: events.clone(),
        outbox_changes: watch::Sender::new(0),
        outbox_touched: AtomicBool::new(false),
    });
    let touched = Arc::clone(&shared);
    conn.update_hook(Some(move |_action, _database: &str, table: &str, _row| {
        if table == "outbox" {
            touched.outbox_touched.store(true, Ordering::Release);
        }
    }))?;
    let readers = options.readers.clamp(1, 64);
    let mut pool = Vec::with_capacity(readers);
    for _ in 0..readers {
        pool.push(schema::open_reader(&path)?);
    }
    let (queue, receiver) = mpsc::channel(QUEUE_CAPACITY);
    let writer = Writer {
        conn,
        clock: options.clock.clone(),
        audit,
        newest,
        proved: false,
        last_seq,
        shared: Arc::clone(&shared),
        synchronous: Durability::Durable,
        stuck_at: 0,
        wal: options.dir.join("leverframe.db-wal"),
        sidecar: sidecar_path,
        lock,
    };
    std::thread::Builder::new()
        .name("store-writer".to_owned())
        .spawn(move || writer.run(receiver))
        .map_err(|error| io(&path, &error))?;
    let store = Store {
        inner: Arc::new(Inner {
            shared,
            queue,
            pool: Slot::new(pool),
            permits: Semaphore::new(readers),
            readers: u32::try_from(readers).unwrap_or(1),
            path,
            artifacts: ArtifactFiles::new(&options.dir),
        }),
    };
    Ok(Opened {
        store,
        events,
        recovery,
    })
}
