//! Writing a file whole.
//!
//! No reader and no crash ever sees half of what is written here, and no link is followed.

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use crate::protocol::hex::hex;

/// How a finished temporary file takes its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replace {
    /// Fails if the name is taken.
    Never,
    /// Takes the place of what is there.
    Existing,
}

/// A write that failed.
#[derive(Debug)]
pub struct WriteFailure {
    /// Why.
    pub error: std::io::Error,
    /// Whether the new content already has its name (only its durability is in doubt).
    pub named: bool,
}

impl<E: Into<std::io::Error>> From<E> for WriteFailure {
    fn from(error: E) -> Self {
        Self {
            error: error.into(),
            named: false,
        }
    }
}

/// Writes a file so that a reader, or a crash, sees the old or the new content and nothing between: a
/// temporary file in the same directory, synchronised, then renamed. `mode` is that of the
/// new file (before the umask when nothing is replaced).
pub fn write_atomically(
    parent: &OwnedFd,
    name: &OsStr,
    content: &[&[u8]],
    mode: Mode,
    replace: Replace,
) -> Result<(), WriteFailure> {
    let mut random = [0_u8; 8];
    getrandom::fill(&mut random).map_err(|error| std::io::Error::other(error.to_string()))?;
    let temporary = format!(".leverframe-{}.tmp", hex(&random));
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::openat(parent, temporary.as_str(), flags, mode)?;
    let named = write_and_name(
        parent,
        name,
        &temporary,
        File::from(file),
        content,
        mode,
        replace,
    );
    if named.is_err() {
        let _ = rustix::fs::unlinkat(parent, temporary.as_str(), AtFlags::empty());
    }
    named?;
    rustix::fs::fsync(parent).map_err(|error| WriteFailure {
        error: error.into(),
        named: true,
    })
}

fn write_and_name(
    parent: &OwnedFd,
    name: &OsStr,
    temporary: &str,
    mut file: File,
    content: &[&[u8]],
    mode: Mode,
    replace: Replace,
) -> std::io::Result<()> {
    use std::io::Write as _;
    for part in content {
        file.write_all(part)?;
    }
    if replace == Replace::Existing {
        rustix::fs::fchmod(&file, mode)?;
    }
    file.sync_all()?;
    name_temporary(parent, OsStr::new(temporary), name, replace)
}

/// Gives a finished temporary file its name.
pub fn name_temporary(
    parent: &OwnedFd,
    temporary: &OsStr,
    name: &OsStr,
    replace: Replace,
) -> std::io::Result<()> {
    match replace {
        Replace::Existing => rustix::fs::renameat(parent, temporary, parent, name)?,
        Replace::Never => {
            match rustix::fs::renameat_with(parent, temporary, parent, name, RenameFlags::NOREPLACE)
            {
                // File systems without the flag: a hard link fails on a taken name as well.
                Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                    rustix::fs::linkat(parent, temporary, parent, name, AtFlags::empty())?;
                    // The file has its name, whether or not it keeps the other one.
                    let _ = rustix::fs::unlinkat(parent, temporary, AtFlags::empty());
                }
                other => other?,
            }
        }
    }
    Ok(())
}
