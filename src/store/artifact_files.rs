//! The files of artifacts on the disk: where each is, how one is written durably, and what keeps them there.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::{OwnedRwLockReadGuard, RwLock};

use crate::clock::Timestamp;
use crate::protocol::artifact::ArtifactHash;
use crate::store::error::StoreError;

/// Folder of the files in the data directory.
pub const FOLDER: &str = "artifacts";
/// End of the name of a file that is being written.
pub(super) const UNFINISHED: &str = ".new";

/// While it is held, no file is unlinked: what copies the database and then the files holds one over both. Never
/// makes anybody who stores an artifact wait.
pub struct ArtifactGuard {
    _shared: OwnedRwLockReadGuard<()>,
}

/// The files.
pub(crate) struct ArtifactFiles {
    pub(super) root: PathBuf,
    pub(super) gate: Arc<RwLock<()>>,
}

/// Where the file of a hash lies below the data directory's folder of artifacts.
pub(super) fn path_of(root: &Path, hash: ArtifactHash) -> PathBuf {
    let name = hash.to_string();
    root.join(name.get(..2).unwrap_or_default()).join(name)
}

pub(super) fn failed(path: &Path, error: &io::Error) -> StoreError {
    StoreError::Full(format!("{}: {error}", path.display()))
}

/// Makes a directory (0700) unless it is there, and makes its name durable. Always: whoever made it may not have come
/// that far, and what is stored in it would go with its name.
pub(super) fn make_directory(path: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        Ok(()) | Err(_) => {}
    }
    match path.parent() {
        Some(parent) => File::open(parent)?.sync_all(),
        None => Ok(()),
    }
}

/// Sets the time of a file's last change to `now`, so that its age is one by our clock.
fn stamp(file: &File, now: Timestamp) -> io::Result<()> {
    let at = rustix::fs::Timespec {
        tv_sec: now.as_millis().div_euclid(1000),
        tv_nsec: now.as_millis().rem_euclid(1000) * 1_000_000,
    };
    rustix::fs::futimens(
        file,
        &rustix::fs::Timestamps {
            last_access: at,
            last_modification: at,
        },
    )?;
    Ok(())
}

/// Writes a file durably under the name of its content.
pub(super) fn write_file(
    root: &Path,
    hash: ArtifactHash,
    content: &[u8],
    now: Timestamp,
) -> io::Result<()> {
    let path = path_of(root, hash);
    let folder = path.parent().unwrap_or(root);
    make_directory(root)?;
    make_directory(folder)?;
    // The same content is there already, perhaps not durably: whoever wrote it may have died before the end.
    if std::fs::read(&path).is_ok_and(|known| known == content) {
        let file = File::open(&path)?;
        stamp(&file, now)?;
        file.sync_all()?;
        return File::open(folder)?.sync_all();
    }
    let unfinished = folder.join(format!("{hash}.{}{UNFINISHED}", ulid::Ulid::generate()));
    let write = || {
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&unfinished)?;
        file.write_all(content)?;
        stamp(&file, now)?;
        if !crate::mutant!("artifact_fsync") {
            file.sync_all()?;
        }
        crate::crash_point!("artifact.pre_rename");
        std::fs::rename(&unfinished, &path)
    };
    write().inspect_err(|_| {
        // What stays behind is an orphan, which the sweeper removes.
        let _ = std::fs::remove_file(&unfinished);
    })?;
    File::open(folder)?.sync_all()
}

impl ArtifactFiles {
    pub(crate) fn new(data_dir: &Path) -> Self {
        Self {
            root: data_dir.join(FOLDER),
            gate: Arc::new(RwLock::new(())),
        }
    }

    pub(super) async fn guard(&self) -> ArtifactGuard {
        ArtifactGuard {
            _shared: self.gate.clone().read_owned().await,
        }
    }
}
