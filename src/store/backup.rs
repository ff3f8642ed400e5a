//! Writing a backup: one tar with a manifest, a copy of the database, every artifact it names, the event archive, and
//! files the caller adds. Nothing of the original changes, and `FILE` appears whole or not at all.
//!
//! The copy is made by a connection of its own that cannot write, in one statement: deleted content does not travel,
//! and the writer goes on meanwhile. It carries a mark that makes its first start a quarantined one.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use rusqlite::{Connection, OpenFlags};
use sha2::{Digest, Sha256};

use crate::clock::Timestamp;
use crate::protocol::backup::{BACKUP_FORMAT, BackupManifest, BackupMember, BackupReport};
use crate::protocol::hex::hex;
use crate::store::archive_files;
use crate::store::audit_chain::AuditHead;
use crate::store::commands::quarantine::COPY_MARK;
use crate::store::error::StoreError;
use crate::store::integrity::with_ending;
use crate::store::meta;
use crate::store::ownership::take_lock;
use crate::store::reader::Reader;
use crate::store::schema::{self, DatabaseFile, ReadOnlyDatabase, SCHEMA_VERSION, remove_if_there};
use crate::store::sql::Statements;

/// Path of the database inside a backup.
pub(crate) const DATABASE_MEMBER: &str = "leverframe.db";
/// Path of the manifest inside a backup: always the first member.
pub(crate) const MANIFEST_MEMBER: &str = "manifest.json";
/// Bytes read at once.
const CHUNK: usize = 256 * 1024;

/// Why there is no backup. Nothing was changed, and what was begun is gone.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The file exists.
    #[error("{0} exists already")]
    Exists(String),
    /// It cannot be written there.
    #[error("{path}: {why}")]
    Place {
        /// The file or directory.
        path: String,
        /// What is wrong with it.
        why: String,
    },
    /// The disk is full.
    #[error("no space left for the backup: {0}")]
    Full(String),
    /// There is no database to copy.
    #[error("there is no database in {0}")]
    Nothing(String),
    /// What would be copied is not sound.
    #[error("{0}")]
    Damaged(String),
    /// The database refused.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What to back up, beside the database.
#[derive(Debug, Clone)]
pub struct BackupRequest {
    /// Where to; absolute, must not exist.
    pub file: PathBuf,
    /// Version of the program.
    pub version: String,
    /// When.
    pub created_at: Timestamp,
    /// Further members: path inside the backup, content. Without secrets.
    pub extras: Vec<(String, Vec<u8>)>,
    /// What the caller left out or changed, in words.
    pub notes: Vec<String>,
}

/// Backs up the database of a data directory that no process serves.
pub fn backup_at_rest(
    dir: &Path,
    instance: &str,
    request: &BackupRequest,
) -> Result<BackupReport, BackupError> {
    let path = dir.join(DATABASE_MEMBER);
    if !path.exists() {
        return Err(BackupError::Nothing(dir.display().to_string()));
    }
    // Nothing may start while it is read.
    let _lock = take_lock(&dir.join("leverframe.lock"), instance)?;
    match schema::inspect(&path)? {
        DatabaseFile::Ours(_) => {}
        DatabaseFile::New => return Err(BackupError::Nothing(dir.display().to_string())),
    }
    write(ReadOnlyDatabase::open(&path)?.conn()?, dir, request)
}

/// Backs up a database that this process writes.
pub(crate) fn backup_while_serving(
    dir: &Path,
    request: &BackupRequest,
) -> Result<BackupReport, BackupError> {
    let conn = Connection::open_with_flags(
        dir.join(DATABASE_MEMBER),
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )
    .map_err(StoreError::from)?;
    write(&conn, dir, request)
}

/// Files that go away with this value, unless one was kept.
struct Temporary(Vec<PathBuf>);

impl Drop for Temporary {
    fn drop(&mut self) {
        for path in &self.0 {
            if let Err(error) = remove_if_there(path) {
                tracing::warn!(path = %path.display(), %error, "a part of a backup stays behind");
            }
        }
    }
}

pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
    )
}

fn place(path: &Path, error: &io::Error) -> BackupError {
    if is_full(error) {
        return BackupError::Full(format!("{}: {error}", path.display()));
    }
    BackupError::Place {
        path: path.display().to_string(),
        why: error.to_string(),
    }
}

/// Refuses a place that cannot or must not hold a backup.
fn check_place(file: &Path, dir: &Path) -> Result<PathBuf, BackupError> {
    let refuse = |path: &Path, why: &str| BackupError::Place {
        path: path.display().to_string(),
        why: why.to_owned(),
    };
    if !file.is_absolute() {
        return Err(refuse(file, "is not an absolute path"));
    }
    if file.file_name().is_none() {
        return Err(refuse(file, "names no file"));
    }
    match std::fs::symlink_metadata(file) {
        Ok(_) => return Err(BackupError::Exists(file.display().to_string())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(place(file, &error)),
    }
    let parent = file.parent().unwrap_or(Path::new("/"));
    let real = match parent.canonicalize() {
        Ok(real) => real,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(refuse(
                parent,
                "does not exist: make the directory first, or name another",
            ));
        }
        Err(error) => return Err(place(parent, &error)),
    };
    if !real.is_dir() {
        return Err(refuse(parent, "is not a directory"));
    }
    if dir.canonicalize().is_ok_and(|dir| real.starts_with(dir)) {
        return Err(refuse(
            file,
            "lies in the data directory, which a restore moves aside: name a place outside",
        ));
    }
    Ok(real)
}

/// An empty file of ours at `path`; what an earlier backup left there is removed.
fn fresh(path: &Path) -> Result<File, BackupError> {
    remove_if_there(path).map_err(|error| place(path, &error))?;
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .map_err(|error| place(path, &error))
}

/// What the copied database says of itself.
struct Facts {
    manifest: BackupManifest,
    artifacts: Vec<(String, u64)>,
    datasets: Vec<BackupMember>,
    sessions: u64,
    continuations: u64,
    open_continuations: u64,
    pending_approvals: u64,
}

fn write(
    source: &Connection,
    dir: &Path,
    request: &BackupRequest,
) -> Result<BackupReport, BackupError> {
    let began = Instant::now();
    let parent = check_place(&request.file, dir)?;
    let partial = with_ending(&request.file, ".partial");
    let copy = with_ending(&request.file, ".partial.db");
    let temporary = Temporary(vec![
        partial.clone(),
        copy.clone(),
        with_ending(&copy, "-journal"),
    ]);
    let out = fresh(&partial)?;
    fresh(&copy)?;
    source
        .execute("VACUUM INTO ?1", [copy.to_string_lossy()])
        .map_err(|error| copying(&copy, error))?;
    let mut facts = examine(&copy, request)?;
    facts.manifest.members = members(&copy, dir, request, &facts)?;
    let size = pack(out, &copy, &partial, dir, request, &facts)?;
    // Looked at again: copying took its time, and a rename would replace what appeared meanwhile.
    if std::fs::symlink_metadata(&request.file).is_ok() {
        return Err(BackupError::Exists(request.file.display().to_string()));
    }
    std::fs::rename(&partial, &request.file).map_err(|error| place(&request.file, &error))?;
    File::open(&parent)
        .and_then(|directory| directory.sync_all())
        .map_err(|error| place(&parent, &error))?;
    drop(temporary);
    Ok(BackupReport {
        path: request.file.display().to_string(),
        size,
        sessions: facts.sessions,
        continuations: facts.continuations,
        open_continuations: facts.open_continuations,
        pending_approvals: facts.pending_approvals,
        artifacts: facts.artifacts.len() as u64,
        config_files: request.extras.len() as u64,
        last_event_seq: facts.manifest.last_event_seq,
        created_at: request.created_at,
        duration_ms: began.elapsed().as_millis() as u64,
        notes: request.notes.clone(),
    })
}

fn copying(copy: &Path, error: rusqlite::Error) -> BackupError {
    match StoreError::from(error) {
        StoreError::Full(why) => BackupError::Full(format!("{}: {why}", copy.display())),
        StoreError::Corrupt(why) => BackupError::Damaged(format!(
            "the database is damaged and cannot be copied: {why}; restore an earlier backup"
        )),
        other => BackupError::Store(other),
    }
}

/// Marks the copy, checks it, and reads what the manifest says of it.
fn examine(copy: &Path, request: &BackupRequest) -> Result<Facts, BackupError> {
    let conn = Connection::open_with_flags(
        copy,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )
    .map_err(|error| copying(copy, error))?;
    let found = || -> Result<Facts, StoreError> {
        meta::set_time(&conn, COPY_MARK, request.created_at)?;
        let verdict: String = conn.value("PRAGMA quick_check(1)", [])?;
        if verdict != "ok" {
            return Err(StoreError::Corrupt(verdict));
        }
        let version: i64 = conn.value("PRAGMA user_version", [])?;
        let reader = Reader { conn: &conn };
        let mut artifacts = Vec::new();
        let mut datasets = Vec::new();
        if version == SCHEMA_VERSION {
            if let Err(broken) = reader.verify_audit()? {
                return Err(StoreError::Corrupt(format!(
                    "audit row {}: {}",
                    broken.seq, broken.reason
                )));
            }
            artifacts = reader.artifact_files()?;
            datasets = reader.dataset_files()?;
        }
        let head = AuditHead::load(&conn)?;
        let count = |query: &str| -> Result<u64, StoreError> { conn.value(query, []) };
        Ok(Facts {
            manifest: BackupManifest {
                format: BACKUP_FORMAT,
                version: request.version.clone(),
                schema: version,
                epoch: meta::number(&conn, "epoch")?.unwrap_or(0),
                last_event_seq: count("SELECT coalesce(max(seq), 0) FROM events")?,
                audit_seq: head.seq,
                audit_hash: hex(&head.hash),
                created_at: request.created_at,
                members: Vec::new(),
            },
            artifacts,
            datasets,
            sessions: count("SELECT count(*) FROM sessions")?,
            continuations: count("SELECT count(*) FROM continuations")?,
            open_continuations: count("SELECT count(*) FROM continuations WHERE ended_at IS NULL")?,
            pending_approvals: count("SELECT count(*) FROM approvals WHERE state = 'pending'")?,
        })
    };
    let facts = found().map_err(|error| match error {
        StoreError::Full(why) => BackupError::Full(format!("{}: {why}", copy.display())),
        StoreError::Corrupt(why) => BackupError::Damaged(format!(
            "the copy is not sound, so it is no backup: {why}; `leverframe doctor --check` looks at the original"
        )),
        other => BackupError::Store(other),
    })?;
    conn.close()
        .map_err(|(_, error)| BackupError::Store(error.into()))?;
    Ok(facts)
}

/// Where an artifact lies below the data directory, which is also its place in a backup.
pub(crate) fn artifact_path(hash: &str) -> String {
    format!("artifacts/{}/{hash}", hash.get(..2).unwrap_or(""))
}

fn missing_artifact(path: &Path, error: &io::Error) -> BackupError {
    if error.kind() == io::ErrorKind::NotFound {
        return BackupError::Damaged(format!(
            "the database names {}, which is not there; `leverframe doctor --check` lists what is missing",
            path.display()
        ));
    }
    place(path, error)
}

fn members(
    copy: &Path,
    dir: &Path,
    request: &BackupRequest,
    facts: &Facts,
) -> Result<Vec<BackupMember>, BackupError> {
    let mut file = File::open(copy).map_err(|error| place(copy, &error))?;
    let (sha256, size) = digest(&mut file).map_err(|error| place(copy, &error))?;
    let mut members = vec![BackupMember {
        path: DATABASE_MEMBER.to_owned(),
        size,
        sha256,
    }];
    for (hash, _) in &facts.artifacts {
        let path = artifact_path(hash);
        let full = dir.join(&path);
        let data = std::fs::metadata(&full).map_err(|error| missing_artifact(&full, &error))?;
        members.push(BackupMember {
            path,
            size: data.len(),
            // Its name is its hash; that its content is too is checked while it is copied.
            sha256: hash.clone(),
        });
    }
    // What they hold is checked while it is copied.
    members.extend(facts.datasets.iter().cloned());
    // Listed after the database was copied: what its copy does not hold any more is in these.
    for day in archive_files::days(dir)? {
        let at = |error: io::Error| place(&day.path, &error);
        let mut file = File::open(&day.path).map_err(at)?;
        let (sha256, size) = digest(&mut file).map_err(at)?;
        members.push(BackupMember {
            path: day.member(),
            size,
            sha256,
        });
    }
    for (path, content) in &request.extras {
        members.push(BackupMember {
            path: path.clone(),
            size: content.len() as u64,
            sha256: hex(&Sha256::digest(content)),
        });
    }
    Ok(members)
}

/// SHA-256 and number of bytes of what is left to read.
pub(crate) fn digest(reader: &mut impl Read) -> io::Result<(String, u64)> {
    let mut hasher = Sha256::new();
    let mut size = 0_u64;
    let mut chunk = vec![0_u8; CHUNK];
    loop {
        let read = reader.read(&mut chunk)?;
        if read == 0 {
            return Ok((hex(&hasher.finalize()), size));
        }
        hasher.update(chunk.get(..read).unwrap_or_default());
        size += read as u64;
    }
}

/// Hashes what is read through it.
struct Hashing<R> {
    inner: R,
    hasher: Sha256,
}

impl<R: Read> Read for Hashing<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.hasher.update(buffer.get(..read).unwrap_or_default());
        Ok(read)
    }
}

/// Writes the tar and makes it durable; its bytes.
fn pack(
    out: File,
    copy: &Path,
    partial: &Path,
    dir: &Path,
    request: &BackupRequest,
    facts: &Facts,
) -> Result<u64, BackupError> {
    let at = |error: io::Error| place(partial, &error);
    let mut tar = tar::Builder::new(io::BufWriter::with_capacity(CHUNK, out));
    let mtime = u64::try_from(request.created_at.as_millis() / 1000).unwrap_or(0);
    let mut manifest = serde_json::to_vec_pretty(&facts.manifest)
        .map_err(|error| BackupError::Damaged(error.to_string()))?;
    manifest.push(b'\n');
    append(
        &mut tar,
        MANIFEST_MEMBER,
        manifest.len() as u64,
        mtime,
        manifest.as_slice(),
    )
    .map_err(at)?;
    for member in &facts.manifest.members {
        if let Some((_, content)) = request.extras.iter().find(|(path, _)| *path == member.path) {
            append(
                &mut tar,
                &member.path,
                member.size,
                mtime,
                content.as_slice(),
            )
            .map_err(at)?;
            continue;
        }
        let source = if member.path == DATABASE_MEMBER {
            copy.to_owned()
        } else {
            dir.join(&member.path)
        };
        let file = File::open(&source).map_err(|error| missing_artifact(&source, &error))?;
        let mut reader = Hashing {
            inner: file.take(member.size),
            hasher: Sha256::new(),
        };
        append(&mut tar, &member.path, member.size, mtime, &mut reader).map_err(at)?;
        if hex(&reader.hasher.finalize()) != member.sha256 {
            return Err(BackupError::Damaged(format!(
                "{} does not hold what its name says; `leverframe doctor --check` looks at all of them",
                source.display()
            )));
        }
        if member.path == DATABASE_MEMBER {
            crate::crash_point!("backup.mid");
        }
    }
    let mut out = tar.into_inner().map_err(at)?;
    out.flush().map_err(at)?;
    let out = out.into_inner().map_err(|error| at(error.into_error()))?;
    out.sync_all().map_err(at)?;
    Ok(out.metadata().map_err(at)?.len())
}

fn append(
    tar: &mut tar::Builder<impl Write>,
    path: &str,
    size: u64,
    mtime: u64,
    content: impl Read,
) -> io::Result<()> {
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(tar::EntryType::Regular);
    header.set_size(size);
    header.set_mode(0o600);
    header.set_mtime(mtime);
    tar.append_data(&mut header, path, content)
}

impl Reader<'_> {
    /// Every artifact that the database names: hash in lower-case hex, bytes.
    pub fn artifact_files(&self) -> Result<Vec<(String, u64)>, StoreError> {
        self.conn.rows(
            "SELECT hash, size FROM artifacts ORDER BY hash",
            [],
            |row| Ok((hex(&row.get::<[u8; 32]>("hash")?), row.get("size")?)),
        )
    }
}
