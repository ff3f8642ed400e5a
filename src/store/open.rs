//! Taking a data directory: lock, identity, epoch side-car, migration, recovery. In this order, and nothing
//! is served before the last step is durable.

use std::fs::File;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rusqlite::Connection;
use rusqlite::config::DbConfig;
use tokio::sync::{Semaphore, broadcast, mpsc, watch};

use crate::clock::Timestamp;
use crate::store::artifact_files::ArtifactFiles;
use crate::store::audit_chain::AuditHead;
use crate::store::command::{Durability, WriteTx};
use crate::store::commands::quarantine::COPY_MARK;
use crate::store::commands::recover::{Recover, Recovery};
use crate::store::dataset_files::DatasetFiles;
use crate::store::error::StoreError;
use crate::store::handle::{Inner, OpenOptions, OpenedStore, Store};
use crate::store::integrity;
use crate::store::log_head::{LogGeneration, LogHead, StagedLog};
use crate::store::meta;
use crate::store::metrics::Metrics;
use crate::store::open_turns::OpenTurns;
use crate::store::ownership::{Sidecar, io, read_sidecar, take_lock, write_sidecar};
use crate::store::schema::{self, DatabaseFile};
use crate::store::sql::Statements;
use crate::store::writer::parking::Slot;
use crate::store::writer::{QUEUE_CAPACITY, Shared, Writer};

/// Events a subscriber may lag behind.
const EVENT_CAPACITY: usize = 4096;

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
fn is_restored(
    found: DatabaseFile,
    stored: u64,
    newest_event: u64,
    sidecar: Option<Sidecar>,
) -> bool {
    match (found, sidecar) {
        (DatabaseFile::New, None) => false,
        (DatabaseFile::Ours(_), None) => true,
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
) -> Result<(Recovery, LogHead), StoreError> {
    conn.execute_batch("BEGIN IMMEDIATE")?;
    let result = recover_within(conn, epoch, now, quarantine);
    match &result {
        Ok(_) => {
            conn.execute_batch("COMMIT")?;
            crate::crash_point!("recover.post");
        }
        Err(_) => conn.execute_batch("ROLLBACK")?,
    }
    result
}

fn recover_within(
    conn: &Connection,
    epoch: u64,
    now: Timestamp,
    quarantine: bool,
) -> Result<(Recovery, LogHead), StoreError> {
    let head = LogHead {
        seq: LogGeneration::begun_by(epoch).base(),
        audit: AuditHead::load(conn)?,
        newest: now,
    };
    let mut tx = WriteTx {
        conn,
        now,
        epoch,
        staged: StagedLog::default(),
    };
    meta::ensure_identity(conn)?;
    let recovery = Recover { quarantine }.apply(&mut tx)?;
    // Nobody follows yet: the events are read from the log.
    let (head, _) = head.append(conn, now, tx.staged)?;
    Ok((recovery, head))
}

impl Store {
    /// Opens or creates the database of a data directory and recovers it. Blocking.
    pub fn open(options: OpenOptions) -> Result<OpenedStore, StoreError> {
        take(&options).map_err(|error| integrity::advise(error, &options.dir.join("leverframe.db")))
    }
}

fn take(options: &OpenOptions) -> Result<OpenedStore, StoreError> {
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
    integrity::refuse_cut(&path)?;
    let found = schema::inspect(&path)?;
    if let DatabaseFile::New = found
        && let Some(Sidecar { epoch, .. }) = sidecar
        && epoch > 0
    {
        return Err(integrity::gone(&path, epoch));
    }
    let logged = integrity::has_log(&path);
    if found == DatabaseFile::New && std::fs::metadata(&path).map_or(0, |data| data.len()) == 0 {
        schema::create(&path)?;
    }
    let conn = schema::open_writer(&path, found)?;
    let number =
        |key: &str| -> Result<u64, StoreError> { Ok(meta::number(&conn, key)?.unwrap_or(0)) };
    let stored = number("epoch")?;
    // A clean end leaves an empty log, unless it could not be emptied.
    let unclean = logged || meta::get(&conn, "clean")?.is_none();
    if matches!(found, DatabaseFile::Ours(_)) && unclean {
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
    let known = if stored == 0 {
        DatabaseFile::New
    } else {
        found
    };
    if known == DatabaseFile::New {
        sync_directories(&options.dir).map_err(|error| io(&options.dir, &error))?;
    }
    let restored =
        is_restored(known, stored, newest_event, sidecar) || meta::get(&conn, COPY_MARK)?.is_some();
    if known == DatabaseFile::New && sidecar.is_none() {
        // So that a first start that dies behind recovery is not taken for a copy without its side-car.
        write_sidecar(&sidecar_path, 0, None)?;
    }
    let epoch = stored.max(sidecar.map_or(0, |sidecar| sidecar.epoch)) + 1;
    // A clock that was set back while nobody ran is as little believed as one that is set back meanwhile.
    let newest = newest_time(&conn)?;
    options.clock.not_before(newest);
    let newest = options.clock.now().max(newest);
    let (recovery, head) = recover(&conn, epoch, newest, restored)?;
    // After the database: were it the other way round, a crash between the two would look like a restore.
    write_sidecar(&sidecar_path, epoch, None)?;
    crate::store::anchors::note(
        &options.dir,
        options.clock.now(),
        epoch,
        &head.audit.anchor(),
        restored,
    );

    let (events, _) = broadcast::channel(EVENT_CAPACITY);
    let shared = Arc::new(Shared {
        epoch,
        generation: LogGeneration::begun_by(epoch),
        last_seq: AtomicU64::new(head.seq),
        problem: watch::Sender::new(None),
        events: events.clone(),
        metrics: Metrics::default(),
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
        head,
        proved: false,
        shared: Arc::clone(&shared),
        turns: OpenTurns::default(),
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
            datasets: DatasetFiles::new(&options.dir),
        }),
    };
    Ok(OpenedStore {
        store,
        events,
        recovery,
    })
}
