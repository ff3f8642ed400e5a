//! The directory through which commands go to a shell and their ends come out.
//!
//! The shell can write in it, too. So no link in it is followed, nothing but a regular file is read, and nothing here
//! waits for somebody at the other end of a file.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};

use crate::text::quote::quote;
use crate::tools::guard::{Guard, open_regular};
use crate::tools::scratch::remove_all;

/// Most bytes of a result that are read.
const MAX_STATE: u64 = 16 * 1024;
/// Most names that one look takes in.
const MOST_NAMES: usize = 100_000;

/// A private directory of one shell. It goes when this is dropped.
pub struct ControlDirectory {
    /// Nothing in it is reached in another way.
    opened: OwnedFd,
    real: PathBuf,
    /// Where the shell sees it.
    inside: PathBuf,
}

impl ControlDirectory {
    /// A new one below `place`.
    pub fn new(place: &Path) -> std::io::Result<Self> {
        let mut private = std::fs::DirBuilder::new();
        private.mode(0o700);
        if let Err(error) = private.create(place)
            && error.kind() != std::io::ErrorKind::AlreadyExists
        {
            return Err(error);
        }
        let real = place.join(ulid::Ulid::generate().to_string());
        private.create(&real)?;
        let real = real.canonicalize()?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(Self {
            opened: rustix::fs::open(&real, flags, Mode::empty())?,
            inside: real.clone(),
            real,
        })
    }

    /// Where it is (absolute, canonical).
    pub fn real(&self) -> &Path {
        &self.real
    }

    /// Says where the shell sees it.
    pub fn set_inside(&mut self, inside: PathBuf) {
        self.inside = inside;
    }

    /// By which it is measured.
    pub fn guard(&self) -> Guard {
        Guard::of(self.real.clone(), Vec::new())
    }

    /// A file of it as a word for bash.
    pub fn word(&self, name: &str) -> String {
        quote(&self.inside.join(name).to_string_lossy())
    }

    /// Makes a file, which must not be there.
    pub fn write(&self, name: &str, text: &str) -> std::io::Result<()> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        let file = rustix::fs::openat(&self.opened, name, flags, mode)?;
        File::from(file).write_all(text.as_bytes())
    }

    /// Whether a regular file has this name.
    pub fn has(&self, name: &str) -> bool {
        let found = rustix::fs::statat(&self.opened, name, AtFlags::SYMLINK_NOFOLLOW);
        found.is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::RegularFile)
    }

    /// The beginning of a regular file. Blocks.
    pub fn read(&self, name: &str) -> Option<Vec<u8>> {
        let file = open_regular(&self.opened, OsStr::new(name)).ok()?;
        let mut bytes = Vec::new();
        file.take(MAX_STATE).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }

    /// Everything in it, at most 100 000 names. Blocks.
    pub fn names(&self) -> Vec<OsString> {
        let entries = Dir::read_from(&self.opened).into_iter().flatten().flatten();
        entries
            .map(|entry| OsStr::from_bytes(entry.file_name().to_bytes()).to_owned())
            .filter(|name| name != "." && name != "..")
            .take(MOST_NAMES)
            .collect()
    }

    /// Removes what is in it. The error says that something stays. Blocks.
    pub fn clear(&self) -> std::io::Result<()> {
        let mut problem = Ok(());
        for name in self.names() {
            let removed = match rustix::fs::unlinkat(&self.opened, &name, AtFlags::empty()) {
                Ok(()) => Ok(()),
                // It is a directory, of which no link is followed either.
                Err(_) => std::fs::remove_dir_all(self.real.join(&name)),
            };
            match removed {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => problem = Err(error),
                Ok(()) | Err(_) => {}
            }
        }
        problem
    }
}

impl Drop for ControlDirectory {
    fn drop(&mut self) {
        if std::fs::remove_dir(&self.real).is_ok() {
            return;
        }
        // A shell that is still being killed may write there, so this can take a while.
        let real = std::mem::take(&mut self.real);
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(move || remove_all(&real))),
            Err(_) => remove_all(&real),
        }
    }
}
