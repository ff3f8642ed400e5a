//! Who owns a data directory: the lock file, and the side-car that knows the newest epoch.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::store::error::StoreError;

pub(super) fn io(path: &Path, error: &std::io::Error) -> StoreError {
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
    let mut file = OpenOptions::new()
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
    pub(super) last_seq: Option<u64>,
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
        let mut file = OpenOptions::new()
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
