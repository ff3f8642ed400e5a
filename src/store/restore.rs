//! Putting a backup back. Everything is verified in a directory of its own before the data directory is touched, and
//! what lay there before is moved aside, never deleted.
//!
//! The restored database carries the mark of a copy and lies without a side-car: its first start is a quarantined one.

use std::collections::HashMap;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::clock::Timestamp;
use crate::protocol::backup::{BACKUP_FORMAT, BackupManifest, BackupMember, RESTORING};
use crate::protocol::hex::hex;
use crate::protocol::uncertain::UncertainTotals;
use crate::store::archive_files;
use crate::store::audit_chain::AuditHead;
use crate::store::backup::{DATABASE_MEMBER, MANIFEST_MEMBER, artifact_path, digest, is_full};
use crate::store::commands::quarantine::COPY_MARK;
use crate::store::dataset_files;
use crate::store::error::StoreError;
use crate::store::integrity::with_ending;
use crate::store::meta;
use crate::store::ownership::take_lock;
use crate::store::queries::uncertain::Recovered;
use crate::store::reader::Reader;
use crate::store::schema::{self, DatabaseFile, ReadOnlyDatabase, SCHEMA_VERSION};
use crate::store::sql::{Connection, Statements};

/// Largest manifest: some hundred thousand members.
const MAX_MANIFEST: u64 = 64 * 1024 * 1024;
/// The lock of a data directory.
const LOCK: &str = "leverframe.lock";

/// Why nothing was restored. The data directory is as it was.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// It is no backup of ours, or not a whole one.
    #[error("{file} is not a whole backup: {why}")]
    NotABackup {
        file: String,
        /// What is wrong with it.
        why: String,
    },
    /// It was made by a newer program.
    #[error("{file} was made by a newer program ({what}): use that program")]
    Newer {
        file: String,
        /// What is newer.
        what: String,
    },
    /// A process works in the data directory.
    #[error("the data directory is in use by {0}")]
    InUse(String),
    /// There is a database already.
    #[error("{0} holds a database already")]
    Occupied(String),
    /// A file or directory cannot be read or written.
    #[error("{path}: {why}")]
    Place {
        path: String,
        /// What is wrong with it.
        why: String,
    },
    /// The disk is full.
    #[error("no space left to restore to: {0}")]
    Full(String),
    /// The database refused.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What to restore, and where to.
#[derive(Debug, Clone)]
pub struct RestoreRequest {
    /// The backup.
    pub file: PathBuf,
    /// Data directory; need not exist.
    pub data_dir: PathBuf,
    /// What becomes of a database that is there.
    pub existing: Existing,
    /// Name of this instance, for the lock file.
    pub instance: String,
    pub now: Timestamp,
    /// Words for the name of what is moved aside: the time, as digits.
    pub stamp: String,
}

/// What becomes of a database that is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// It stays, and nothing is restored.
    Refuse,
    /// It is moved aside.
    MoveAside,
}

/// What was restored.
#[derive(Debug)]
pub struct RestoreOutcome {
    /// First member of the backup.
    pub manifest: BackupManifest,
    /// Where the former data directory lies now.
    pub moved_aside: Option<PathBuf>,
    /// Configuration in the backup: path below the configuration directory, content. Nothing of it is written.
    pub config: Vec<(String, Vec<u8>)>,
    pub uncertain: UncertainTotals,
}

/// Verifies a backup and puts it into a data directory.
pub fn restore(request: &RestoreRequest) -> Result<RestoreOutcome, RestoreError> {
    let dir = &request.data_dir;
    let held = lock_existing(dir, &request.instance)?;
    if request.existing == Existing::Refuse && dir.join(DATABASE_MEMBER).exists() {
        return Err(RestoreError::Occupied(dir.display().to_string()));
    }
    let mut staging = Staging::new(dir, &request.instance)?;
    let (manifest, config) = unpack(&request.file, &staging.path)?;
    let uncertain = verify(&request.file, &staging.path, &manifest, request.now)?;
    let moved_aside = staging.replace(dir, &request.stamp)?;
    drop(held);
    Ok(RestoreOutcome {
        manifest,
        moved_aside,
        config,
        uncertain,
    })
}

pub(crate) fn place(path: &Path, error: &io::Error) -> RestoreError {
    if is_full(error) {
        return RestoreError::Full(format!("{}: {error}", path.display()));
    }
    RestoreError::Place {
        path: path.display().to_string(),
        why: error.to_string(),
    }
}

fn locked(error: StoreError) -> RestoreError {
    match error {
        StoreError::Locked { holder } => RestoreError::InUse(holder),
        other => RestoreError::Store(other),
    }
}

/// The lock of a data directory that is there; it must be a directory, and nobody may hold it.
fn lock_existing(dir: &Path, instance: &str) -> Result<Option<File>, RestoreError> {
    match std::fs::symlink_metadata(dir) {
        Ok(data) if data.is_dir() => {
            // An empty directory has no holder, and stays as it is if nothing comes of this.
            let empty = std::fs::read_dir(dir)
                .map_err(|error| place(dir, &error))?
                .next()
                .is_none();
            if empty {
                return Ok(None);
            }
            take_lock(&dir.join(LOCK), instance)
                .map(Some)
                .map_err(locked)
        }
        Ok(_) => Err(RestoreError::Place {
            path: dir.display().to_string(),
            why: "is not a directory (a symbolic link is not followed)".to_owned(),
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(place(dir, &error)),
    }
}

/// Where a backup is unpacked, beside the data directory; goes away unless it took the data directory's place.
struct Staging {
    path: PathBuf,
    lock: Option<File>,
    placed: bool,
}

impl Drop for Staging {
    fn drop(&mut self) {
        if !self.placed
            && let Err(error) = std::fs::remove_dir_all(&self.path)
        {
            tracing::warn!(path = %self.path.display(), %error, "what was unpacked stays behind");
        }
    }
}

impl Staging {
    fn new(dir: &Path, instance: &str) -> Result<Self, RestoreError> {
        let path = with_ending(dir, RESTORING);
        let at = |error: io::Error| place(&path, &error);
        let parent = dir.parent().unwrap_or(Path::new("/"));
        std::fs::create_dir_all(parent).map_err(|error| place(parent, &error))?;
        if path.exists() {
            // Left by a restore that was killed, unless one is at work.
            drop(take_lock(&path.join(LOCK), instance).map_err(locked)?);
            std::fs::remove_dir_all(&path).map_err(at)?;
        }
        DirBuilder::new().mode(0o700).create(&path).map_err(at)?;
        let mut staging = Self {
            path: path.clone(),
            lock: None,
            placed: false,
        };
        staging.lock = Some(take_lock(&path.join(LOCK), instance).map_err(locked)?);
        Ok(staging)
    }

    /// Takes the place of the data directory; where the former one lies now.
    fn replace(&mut self, dir: &Path, stamp: &str) -> Result<Option<PathBuf>, RestoreError> {
        let sync = |path: &Path| {
            File::open(path)
                .and_then(|directory| directory.sync_all())
                .map_err(|error| place(path, &error))
        };
        sync(&self.path)?;
        let mut aside = None;
        if dir.exists() {
            let bare = std::fs::read_dir(dir)
                .map_err(|error| place(dir, &error))?
                .flatten()
                .all(|entry| entry.file_name() == LOCK);
            if bare {
                let _ = std::fs::remove_file(dir.join(LOCK));
                std::fs::remove_dir(dir).map_err(|error| place(dir, &error))?;
            } else {
                let target = with_ending(dir, &format!(".before-restore-{stamp}"));
                if target.exists() {
                    return Err(RestoreError::Place {
                        path: target.display().to_string(),
                        why: "exists already: try again in a second".to_owned(),
                    });
                }
                std::fs::rename(dir, &target).map_err(|error| place(dir, &error))?;
                aside = Some(target);
            }
        }
        crate::crash_point!("restore.mid");
        if let Err(error) = std::fs::rename(&self.path, dir) {
            // Back as it was, so that nothing is lost from sight.
            if let Some(target) = &aside {
                std::fs::rename(target, dir).map_err(|error| place(target, &error))?;
            }
            return Err(place(dir, &error));
        }
        self.placed = true;
        sync(dir.parent().unwrap_or(Path::new("/")))?;
        Ok(aside)
    }
}

pub(crate) type BackupContents = (BackupManifest, Vec<(String, Vec<u8>)>);

/// Refuses a file for a reason.
fn refusal(file: &Path) -> impl Fn(String) -> RestoreError {
    let file = file.display().to_string();
    move |why| RestoreError::NotABackup {
        file: file.clone(),
        why,
    }
}

/// Unpacks the members into a directory and compares each with the manifest.
pub(crate) fn unpack(file: &Path, into: &Path) -> Result<BackupContents, RestoreError> {
    let refuse = refusal(file);
    let input = File::open(file).map_err(|error| place(file, &error))?;
    if !input.metadata().is_ok_and(|data| data.is_file()) {
        return Err(refuse("it is not a file".to_owned()));
    }
    let mut archive = tar::Archive::new(io::BufReader::with_capacity(256 * 1024, input));
    let broken = |error: io::Error| refuse(format!("it cannot be read as a tar ({error})"));
    let mut entries = archive.entries().map_err(broken)?;
    let mut first = match entries.next() {
        Some(entry) => entry.map_err(broken)?,
        None => return Err(refuse("it is empty".to_owned())),
    };
    let manifest = read_manifest(file, &mut first)?;
    let mut wanted: HashMap<&str, &BackupMember> = HashMap::new();
    for member in &manifest.members {
        if !belongs(&member.path) {
            return Err(refuse(format!(
                "its manifest names `{}`, which does not belong into a backup",
                shown(&member.path)
            )));
        }
        if wanted.insert(&member.path, member).is_some() {
            return Err(refuse(format!(
                "its manifest names `{}` twice",
                member.path
            )));
        }
    }
    let mut config = Vec::new();
    for entry in entries {
        let mut entry = entry.map_err(broken)?;
        let name = member_name(&entry).map_err(&refuse)?;
        let Some(member) = wanted.remove(name.as_str()) else {
            return Err(refuse(format!(
                "it holds `{}`, which its manifest does not name once",
                shown(&name)
            )));
        };
        if entry.size() != member.size {
            return Err(refuse(format!(
                "`{name}` has {} bytes, its manifest says {}",
                entry.size(),
                member.size
            )));
        }
        let sha256 = if let Some(path) = name.strip_prefix("config/") {
            let mut content = Vec::new();
            entry.read_to_end(&mut content).map_err(broken)?;
            let (sha256, size) = digest(&mut content.as_slice()).map_err(broken)?;
            if size != member.size {
                return Err(refuse(format!("it ends inside `{name}`")));
            }
            config.push((path.to_owned(), content));
            sha256
        } else {
            extract(&mut entry, &into.join(&name), member.size).map_err(|error| match error {
                Extract::Read(error) => refuse(format!("`{name}` cannot be read: {error}")),
                Extract::Short => refuse(format!("it ends inside `{name}`")),
                Extract::Write(path, error) => place(&path, &error),
            })?
        };
        if sha256 != member.sha256 {
            return Err(refuse(format!(
                "`{name}` is damaged: its SHA-256 is not the one of the manifest"
            )));
        }
    }
    if let Some(missing) = wanted.keys().min() {
        return Err(refuse(format!(
            "it is cut off: `{missing}` is missing, and {} members in all",
            wanted.len()
        )));
    }
    Ok((manifest, config))
}

/// The manifest of a backup, without a look at what follows.
pub(crate) fn read_manifest_of(file: &Path, input: File) -> Result<BackupManifest, RestoreError> {
    let refuse = refusal(file);
    let broken = |error: io::Error| refuse(format!("it cannot be read as a tar ({error})"));
    let mut archive = tar::Archive::new(input);
    let mut entries = archive.entries().map_err(broken)?;
    let first = entries.next();
    let first = first.ok_or_else(|| refuse("it is empty".to_owned()))?;
    read_manifest(file, &mut first.map_err(broken)?)
}

fn read_manifest(
    file: &Path,
    entry: &mut tar::Entry<'_, impl Read>,
) -> Result<BackupManifest, RestoreError> {
    let refuse = refusal(file);
    let name = member_name(entry).map_err(&refuse)?;
    if name != MANIFEST_MEMBER {
        return Err(refuse(format!(
            "its first member is `{}`, not {MANIFEST_MEMBER}",
            shown(&name)
        )));
    }
    if entry.size() > MAX_MANIFEST {
        return Err(refuse("its manifest is too large".to_owned()));
    }
    let mut text = Vec::new();
    entry
        .read_to_end(&mut text)
        .map_err(|error| refuse(format!("its manifest cannot be read: {error}")))?;
    // What version it is decides whether the rest can be understood.
    let value: serde_json::Value = serde_json::from_slice(&text)
        .map_err(|error| refuse(format!("its manifest is not JSON: {error}")))?;
    let format = value.get("format").and_then(serde_json::Value::as_u64);
    match format {
        Some(format) if format > u64::from(BACKUP_FORMAT) => {
            return Err(RestoreError::Newer {
                file: file.display().to_string(),
                what: format!("backup format {format}, this program knows {BACKUP_FORMAT}"),
            });
        }
        Some(_) => {}
        None => return Err(refuse("its manifest names no format".to_owned())),
    }
    let manifest: BackupManifest =
        serde_json::from_value(value).map_err(|error| refuse(format!("its manifest: {error}")))?;
    if manifest.schema > SCHEMA_VERSION {
        return Err(RestoreError::Newer {
            file: file.display().to_string(),
            what: format!(
                "schema version {}, this program knows {SCHEMA_VERSION}",
                manifest.schema
            ),
        });
    }
    Ok(manifest)
}

/// The path of a member; what is not a plain file with a plain name is refused.
fn member_name(entry: &tar::Entry<'_, impl Read>) -> Result<String, String> {
    let name = String::from_utf8(entry.path_bytes().into_owned())
        .map_err(|_| "a member has a name that is not UTF-8".to_owned())?;
    if entry.header().entry_type() != tar::EntryType::Regular {
        return Err(format!("`{}` is not a plain file", shown(&name)));
    }
    if name != MANIFEST_MEMBER && !belongs(&name) {
        return Err(format!(
            "it holds `{}`, which does not belong into a backup",
            shown(&name)
        ));
    }
    Ok(name)
}

fn shown(name: &str) -> String {
    name.chars()
        .take(100)
        .flat_map(char::escape_debug)
        .collect()
}

/// Whether a path is one that a backup can hold. No other is ever written to.
pub(crate) fn belongs(path: &str) -> bool {
    let hexadecimal = |text: &str, length: usize| {
        text.len() == length
            && text
                .bytes()
                .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
    };
    let toml = |name: &str| {
        name.strip_suffix(".toml").is_some_and(|stem| {
            !stem.is_empty()
                && !stem.starts_with('.')
                && stem
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"._- ".contains(&byte))
        })
    };
    let parts: Vec<&str> = path.split('/').collect();
    match parts.as_slice() {
        [DATABASE_MEMBER] | ["config", "config.toml"] => true,
        ["artifacts", folder, hash] => hexadecimal(hash, 64) && hash.get(..2) == Some(folder),
        [archive_files::FOLDER, name] => archive_files::named(name).is_some(),
        ["config", "keymaps" | "themes", name] => toml(name),
        [dataset_files::FOLDER, channel, file] => dataset_files::is_member(channel, file),
        _ => false,
    }
}

enum Extract {
    Read(io::Error),
    Short,
    Write(PathBuf, io::Error),
}

/// Writes one member durably; its SHA-256.
fn extract(entry: &mut impl Read, to: &Path, size: u64) -> Result<String, Extract> {
    let at = |error: io::Error| Extract::Write(to.to_owned(), error);
    if let Some(parent) = to.parent() {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(parent)
            .map_err(at)?;
    }
    let mut out = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(to)
        .map_err(at)?;
    let mut tee = Tee {
        from: entry,
        to: &mut out,
        failed: None,
    };
    let read = digest(&mut tee);
    if let Some(error) = tee.failed {
        return Err(at(error));
    }
    let (sha256, written) = read.map_err(Extract::Read)?;
    if written != size {
        return Err(Extract::Short);
    }
    out.sync_all().map_err(at)?;
    Ok(sha256)
}

/// Writes what is read through it.
struct Tee<'a, R> {
    from: &'a mut R,
    to: &'a mut File,
    failed: Option<io::Error>,
}

impl<R: Read> Read for Tee<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(buffer)?;
        match self.to.write_all(buffer.get(..read).unwrap_or_default()) {
            Ok(()) => Ok(read),
            Err(error) => {
                let again = io::Error::new(error.kind(), "writing");
                self.failed = Some(error);
                Err(again)
            }
        }
    }
}

/// Checks that the unpacked database is the sound one that the manifest speaks of, and marks it as a copy.
pub(crate) fn verify(
    file: &Path,
    dir: &Path,
    manifest: &BackupManifest,
    now: Timestamp,
) -> Result<UncertainTotals, RestoreError> {
    let refuse = refusal(file);
    let path = dir.join(DATABASE_MEMBER);
    if !path.exists() {
        return Err(refuse("it holds no database".to_owned()));
    }
    let found = schema::inspect(&path).map_err(|error| match error {
        StoreError::Newer { found, supported } => RestoreError::Newer {
            file: file.display().to_string(),
            what: format!("schema version {found}, this program knows {supported}"),
        },
        other => refuse(other.to_string()),
    })?;
    let version = match found {
        DatabaseFile::Ours(version) if version == manifest.schema => version,
        DatabaseFile::Ours(_) | DatabaseFile::New => {
            return Err(refuse(
                "its database is not the one of its manifest".to_owned(),
            ));
        }
    };
    let mut totals = UncertainTotals::default();
    {
        let untouched = ReadOnlyDatabase::open(&path)?;
        let conn = untouched.conn()?;
        let mut read = || -> Result<Option<String>, StoreError> {
            let verdict: String = conn.value("PRAGMA quick_check(1)", [])?;
            if verdict != "ok" {
                return Ok(Some(format!("its database is damaged: {verdict}")));
            }
            let head = AuditHead::load(conn)?;
            if head.seq != manifest.audit_seq || hex(&head.hash) != manifest.audit_hash {
                return Ok(Some(
                    "its audit does not end where its manifest says".to_owned(),
                ));
            }
            let reader = Reader { conn };
            if version == SCHEMA_VERSION {
                if let Err(broken) = reader.verify_audit()? {
                    return Ok(Some(format!("audit row {}: {}", broken.seq, broken.reason)));
                }
                for (hash, _) in reader.artifact_files()? {
                    if !dir.join(artifact_path(&hash)).exists() {
                        return Ok(Some(format!("the artifact {hash} is missing")));
                    }
                }
                for dataset in reader.dataset_files()? {
                    if !dir.join(&dataset.path).exists() {
                        return Ok(Some(format!("the dataset {} is missing", dataset.path)));
                    }
                }
            }
            totals = reader.uncertain(now, Recovered::NotYet)?.totals;
            Ok(None)
        };
        match read() {
            Ok(None) => {}
            Ok(Some(why)) => return Err(refuse(why)),
            Err(StoreError::Corrupt(why)) => {
                return Err(refuse(format!("its database is damaged: {why}")));
            }
            Err(error) => return Err(error.into()),
        }
    }
    // A backup carries the mark already; what is restored must, whoever packed it.
    let conn = Connection::open(&path).map_err(StoreError::from)?;
    meta::set_time(&conn, COPY_MARK, now)?;
    conn.close().map_err(|(_, error)| StoreError::from(error))?;
    File::open(&path)
        .and_then(|file| file.sync_all())
        .map_err(|error| place(&path, &error))?;
    Ok(totals)
}
