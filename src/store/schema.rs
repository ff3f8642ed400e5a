//! The database file: pragmas, identity, migrations. Forward only; a newer or foreign file is not touched.

use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};
use rusqlite_migration::{HookResult, M, Migrations};

use crate::store::error::StoreError;
use crate::store::immutable::immutable_uri;
use crate::store::integrity::{self, with_ending};

/// Marks the file as ours: `LFR1`.
pub const APPLICATION_ID: i32 = 0x4c46_5231;
/// Oldest SQLite without the WAL-reset bug.
const MINIMUM_SQLITE: i32 = 3_051_003;

/// How long a connection waits for a lock that another one holds.
pub(crate) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// What brings a database up to date, in order.
const MIGRATIONS: [&str; 35] = [
    include_str!("migrations/001_initial.sql"),
    include_str!("migrations/002_durability.sql"),
    include_str!("migrations/003_models.sql"),
    include_str!("migrations/004_memory.sql"),
    include_str!("migrations/005_rules_and_pairs.sql"),
    include_str!("migrations/006_channels.sql"),
    include_str!("migrations/007_pairings.sql"),
    include_str!("migrations/008_hand_over.sql"),
    include_str!("migrations/009_private_turns.sql"),
    include_str!("migrations/010_shown_cards.sql"),
    include_str!("migrations/011_rules_of_commands.sql"),
    include_str!("migrations/012_leftovers.sql"),
    include_str!("migrations/013_speakers.sql"),
    include_str!("migrations/014_removed_turns.sql"),
    include_str!("migrations/015_refused_calls.sql"),
    include_str!("migrations/016_progress_notices.sql"),
    include_str!("migrations/017_reminders.sql"),
    include_str!("migrations/018_floods.sql"),
    include_str!("migrations/019_channel_health.sql"),
    include_str!("migrations/020_attachments.sql"),
    include_str!("migrations/021_options.sql"),
    include_str!("migrations/022_preferences.sql"),
    include_str!("migrations/023_files.sql"),
    include_str!("migrations/024_lifetimes.sql"),
    include_str!("migrations/025_skills.sql"),
    include_str!("migrations/026_outbound_files.sql"),
    include_str!("migrations/027_datasets.sql"),
    include_str!("migrations/028_tool_servers.sql"),
    include_str!("migrations/029_mcp_surface.sql"),
    include_str!("migrations/030_channel_kinds.sql"),
    include_str!("migrations/031_gate.sql"),
    include_str!("migrations/032_tokens.sql"),
    include_str!("migrations/033_statistics.sql"),
    include_str!("migrations/034_escalation.sql"),
    include_str!("migrations/035_orphans.sql"),
];

fn migrations() -> Migrations<'static> {
    let migration = |(before, sql): (usize, &'static str)| {
        M::up_with_hook(sql, move |tx: &rusqlite::Transaction<'_>| -> HookResult {
            if before == 0 {
                tx.pragma_update(None, "application_id", APPLICATION_ID)?;
            }
            crate::crash_point!("migrate.mid");
            Ok(())
        })
    };
    Migrations::new(MIGRATIONS.into_iter().enumerate().map(migration).collect())
}

/// Newest schema version this program knows.
pub const SCHEMA_VERSION: i64 = MIGRATIONS.len() as i64;

/// What the migrations up to [`NEW_DATABASE_VERSION`] make of a new file, in one piece. Each of them would read the
/// whole schema again and wait for the disk.
pub const NEW_DATABASE: &str = include_str!("new_database.sql");

/// The schema version of [`NEW_DATABASE`]. It may be older than the newest: migrations after it run as always.
pub const NEW_DATABASE_VERSION: i64 = 35;

/// Gives a new file its tables, in one transaction.
fn fill(conn: &mut Connection) -> rusqlite::Result<()> {
    let tx = conn.transaction()?;
    tx.execute_batch(NEW_DATABASE)?;
    tx.pragma_update(None, "application_id", APPLICATION_ID)?;
    tx.pragma_update(None, "user_version", NEW_DATABASE_VERSION)?;
    crate::crash_point!("migrate.mid");
    tx.commit()
}

/// Refuses a SQLite that can corrupt its own log.
pub(crate) fn assert_sqlite() -> Result<(), StoreError> {
    if rusqlite::version_number() < MINIMUM_SQLITE {
        return Err(StoreError::TooOldSqlite(rusqlite::version().to_owned()));
    }
    Ok(())
}

/// What lies at the database's path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DatabaseFile {
    /// Nothing, or a file without content.
    New,
    /// A database of ours with this schema version.
    Ours(i64),
}

/// A connection that reads a database which no process writes, and leaves nothing beside it.
pub(crate) struct ReadOnlyDatabase {
    conn: Option<Connection>,
    /// The index of the log, when this connection made it.
    made: Option<std::path::PathBuf>,
}

impl Drop for ReadOnlyDatabase {
    fn drop(&mut self) {
        drop(self.conn.take());
        if let Some(index) = &self.made {
            // Nobody else has the database open, so nobody misses what SQLite makes anew.
            let _ = std::fs::remove_file(index);
        }
    }
}

impl ReadOnlyDatabase {
    /// Opens it. Without a write-ahead log there is none to read, and SQLite is told so instead of making an empty
    /// one. The caller holds the lock of the directory, or is alone with the file.
    pub(crate) fn open(path: &Path) -> Result<Self, StoreError> {
        let log = path.with_extension("db-wal");
        let has_log = std::fs::metadata(&log).is_ok_and(|data| data.len() > 0);
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let (conn, made) = if has_log {
            let index = path.with_extension("db-shm");
            let made = (!index.exists()).then_some(index);
            (Connection::open_with_flags(path, flags)?, made)
        } else {
            let flags = flags | OpenFlags::SQLITE_OPEN_URI;
            (
                Connection::open_with_flags(immutable_uri(path), flags)?,
                None,
            )
        };
        conn.busy_timeout(BUSY_TIMEOUT)?;
        Ok(Self {
            conn: Some(conn),
            made,
        })
    }

    /// The connection.
    pub(crate) fn conn(&self) -> Result<&Connection, StoreError> {
        self.conn.as_ref().ok_or(StoreError::Closed)
    }
}

/// Looks at the file without changing it.
pub(crate) fn inspect(path: &Path) -> Result<DatabaseFile, StoreError> {
    match std::fs::metadata(path) {
        Ok(data) if data.len() > 0 => {}
        Ok(_) => return Ok(DatabaseFile::New),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(DatabaseFile::New),
        Err(error) => return Err(StoreError::Full(format!("{}: {error}", path.display()))),
    }
    let untouched = ReadOnlyDatabase::open(path)?;
    identify(untouched.conn()?, path)
}

/// Whose database an open connection sees.
pub(crate) fn identify(conn: &Connection, path: &Path) -> Result<DatabaseFile, StoreError> {
    let foreign = |what: &str| StoreError::Foreign(format!("{} is {what}", path.display()));
    let read = || -> rusqlite::Result<(i32, i64, i64)> {
        Ok((
            conn.query_row("PRAGMA application_id", [], |row| row.get(0))?,
            conn.query_row("PRAGMA user_version", [], |row| row.get(0))?,
            conn.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?,
        ))
    };
    let (application, version, tables) = match read() {
        Ok(facts) => facts,
        Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::NotADatabase) => {
            return Err(foreign("not a database"));
        }
        Err(error) => return Err(error.into()),
    };
    if (application == 0 || application == APPLICATION_ID) && version == 0 && tables == 0 {
        return Ok(DatabaseFile::New);
    }
    if application != APPLICATION_ID {
        return Err(foreign("a database of another program"));
    }
    if version > SCHEMA_VERSION {
        return Err(StoreError::Newer {
            found: version,
            supported: SCHEMA_VERSION,
        });
    }
    // Looked at through a connection that cannot write: one that can would apply the log when it is closed.
    integrity::refuse_foreign_log(path, conn)?;
    Ok(DatabaseFile::Ours(version))
}

pub(crate) fn common_pragmas(conn: &Connection) -> Result<(), StoreError> {
    conn.busy_timeout(BUSY_TIMEOUT)?;
    conn.set_prepared_statement_cache_capacity(256);
    conn.pragma_update(None, "trusted_schema", false)?;
    conn.pragma_update(None, "cell_size_check", true)?;
    conn.pragma_update(None, "mmap_size", 0)?;
    Ok(())
}

/// Keeps the database as it is beside itself, durably, before it is migrated. A copy of the same name was left by an
/// attempt that failed half-way: it is older, not better, and replaced whole.
fn copy_before_migration(conn: &Connection, path: &Path, version: i64) -> Result<(), StoreError> {
    let copy = path.with_extension(format!("before-schema-{SCHEMA_VERSION}.db"));
    let partial = path.with_extension(format!("before-schema-{SCHEMA_VERSION}.db.partial"));
    let full = |error: &dyn std::fmt::Display| {
        let needed = std::fs::metadata(path).map_or(0, |data| data.len()) / (1024 * 1024) + 1;
        // What was begun only takes the space that is missing.
        let _ = std::fs::remove_file(&partial);
        StoreError::Full(format!(
            "before it is migrated from schema {version} to {SCHEMA_VERSION}, the database is copied to {}, which \
             failed: {error}. Free about {needed} MiB there; nothing was changed",
            copy.display()
        ))
    };
    let write = || -> std::io::Result<()> {
        remove_if_there(&partial)?;
        std::fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&partial)?;
        conn.execute("VACUUM INTO ?1", [partial.to_string_lossy()])
            .map_err(std::io::Error::other)?;
        std::fs::File::open(&partial)?.sync_all()?;
        std::fs::rename(&partial, &copy)?;
        match path.parent() {
            Some(directory) => std::fs::File::open(directory)?.sync_all(),
            None => Ok(()),
        }
    };
    write().map_err(|error| full(&error))
}

/// Makes the file of a new database: complete, in WAL mode, or not there at all. Made under another name, because
/// SQLite gives a new file its mode in transactions of its own, and a loss of power in one of them would leave a file
/// that only a writer can put right.
pub(crate) fn create(path: &Path) -> Result<(), StoreError> {
    let new = with_ending(path, ".new");
    let io = |error: std::io::Error| StoreError::Full(format!("{}: {error}", path.display()));
    // Left by an attempt that died. A log without its database says nothing, and must not be taken for the new one's.
    for file in [path, &new] {
        for suffix in ["-journal", "-wal", "-shm"] {
            remove_if_there(&with_ending(file, suffix)).map_err(io)?;
        }
    }
    remove_if_there(&new).map_err(io)?;
    let file = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        // The log files inherit it.
        .mode(0o600)
        .open(&new)
        .map_err(io)?;
    let conn = Connection::open_with_flags(
        &new,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    common_pragmas(&conn)?;
    // Nobody knows the file yet: one sync at the end is enough.
    conn.query_row("PRAGMA journal_mode = MEMORY", [], |_| Ok(()))?;
    conn.pragma_update(None, "synchronous", "OFF")?;
    // Only possible before the first page is written.
    conn.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    conn.pragma_update(None, "application_id", APPLICATION_ID)?;
    set_wal_mode(&conn)?;
    conn.close().map_err(|(_, error)| error)?;
    file.sync_all().map_err(io)?;
    std::fs::rename(&new, path).map_err(io)?;
    if let Some(directory) = path.parent() {
        std::fs::File::open(directory)
            .and_then(|directory| directory.sync_all())
            .map_err(io)?;
    }
    Ok(())
}

/// Removes a file; none is as well.
pub(crate) fn remove_if_there(path: &Path) -> std::io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn set_wal_mode(conn: &Connection) -> Result<(), StoreError> {
    let mode: String = conn.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
    if mode != "wal" {
        return Err(StoreError::Sqlite(format!(
            "journal mode is {mode}, not wal: is this a network file system?"
        )));
    }
    Ok(())
}

/// Opens the one writing connection and brings the schema up to date.
pub(crate) fn open_writer(path: &Path, found: DatabaseFile) -> Result<Connection, StoreError> {
    let mut conn = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    common_pragmas(&conn)?;
    if found == DatabaseFile::New {
        // For an empty database that somebody else made; only possible before the first page is written.
        conn.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    }
    set_wal_mode(&conn)?;
    conn.pragma_update(None, "synchronous", "FULL")?;
    conn.pragma_update(None, "foreign_keys", true)?;
    conn.pragma_update(None, "secure_delete", "FAST")?;
    conn.query_row("PRAGMA journal_size_limit = 67108864", [], |_| Ok(()))?;
    // Checkpoints are the writer's: SQLite's own would hide a failed fsync.
    conn.query_row("PRAGMA wal_autocheckpoint = 0", [], |_| Ok(()))?;
    #[cfg(target_os = "macos")]
    {
        conn.pragma_update(None, "fullfsync", true)?;
        conn.pragma_update(None, "checkpoint_fullfsync", true)?;
    }
    match found {
        DatabaseFile::New => fill(&mut conn)
            .map_err(|error| StoreError::Sqlite(format!("migration failed: {error}")))?,
        DatabaseFile::Ours(version) if version < SCHEMA_VERSION => {
            copy_before_migration(&conn, path, version)?;
        }
        DatabaseFile::Ours(_) => {}
    }
    migrations()
        .to_latest(&mut conn)
        .map_err(|error| StoreError::Sqlite(format!("migration failed: {error}")))?;
    Ok(conn)
}

/// Opens a connection that cannot write.
pub(crate) fn open_reader(path: &Path) -> Result<Connection, StoreError> {
    let conn = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    common_pragmas(&conn)?;
    conn.pragma_update(None, "query_only", true)?;
    Ok(conn)
}
