//! What a file of the workspace holds at one moment, and its difference to what it would hold.
//!
//! Two versions with one digest hold the same bytes.

use std::fs::{File, Metadata};
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use similar::TextDiff;

use crate::protocol::hex::hex;
use crate::tools::guard::{Guard, GuardedPath};
use crate::tools::version_control;

/// The operand of a file that is not there.
pub const ABSENT: &str = "absent";
/// The second operand of a file that git can bring back.
pub const RESTORABLE: &str = "reversible by git";
/// The name of a file that is not there, in the head of a difference.
pub const NO_FILE: &str = "/dev/null";

/// What a file holds.
#[derive(Debug)]
pub struct FileVersion {
    /// Lower-case hex SHA-256 of its bytes.
    pub digest: String,
    /// Bytes.
    pub size: u64,
    /// Permission bits.
    pub mode: u32,
    /// Whether it has more names than this one: then a write in place through another one changes it too.
    pub is_shared: bool,
    /// Whether git can bring it back; else why not.
    pub restorable: Result<(), &'static str>,
    /// The bytes; none = more than were asked for.
    pub bytes: Option<Vec<u8>>,
    /// To see a change without reading it again.
    pub stamp: Stamp,
}

/// Which file it is and when it was written last. A file with another stamp may hold something else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
}

impl Stamp {
    /// Of what the file system says.
    pub fn of(found: &Metadata) -> Self {
        Self {
            device: found.dev(),
            inode: found.ino(),
            size: found.size(),
            modified: (found.mtime(), found.mtime_nsec()),
        }
    }

    /// Whether both name one file, whatever it holds.
    pub fn is_same_file(&self, other: &Self) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }
}

impl FileVersion {
    /// The text, if all of it was kept and it is text.
    pub fn text(&self) -> Option<&str> {
        let bytes = self.bytes.as_deref().filter(|bytes| !bytes.contains(&0))?;
        std::str::from_utf8(bytes).ok()
    }
}

/// Reads a checked file. Its bytes are kept where there are at most `max_kept`.
pub fn read(guard: &Guard, path: &GuardedPath, max_kept: u64) -> std::io::Result<FileVersion> {
    let mut file = guard.open_file(path)?;
    let found = file.metadata()?;
    let mut object = version_control::naming(found.len());
    let mut hash = Sha256::new();
    let mut kept = Vec::new();
    let mut size = 0_u64;
    each_chunk(&mut file, |chunk| {
        hash.update(chunk);
        object.update(chunk);
        size += chunk.len() as u64;
        if size <= max_kept {
            kept.extend_from_slice(chunk);
        }
        Ok(())
    })?;
    Ok(FileVersion {
        digest: hex(&hash.finalize()),
        size,
        mode: found.mode() & 0o777,
        is_shared: found.nlink() > 1,
        restorable: version_control::restores(guard, path, object),
        bytes: (size <= max_kept).then_some(kept),
        stamp: Stamp::of(&found),
    })
}

/// Gives a file piece by piece.
pub fn each_chunk(
    file: &mut File,
    mut take: impl FnMut(&[u8]) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let mut chunk = vec![0_u8; 64 * 1024];
    loop {
        match file.read(&mut chunk) {
            Ok(0) => return Ok(()),
            Ok(count) => take(&chunk[..count])?,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// The complete difference of two texts as a unified diff. `from` and `to` are its head.
pub fn unified(old: &str, new: &str, from: &str, to: &str) -> String {
    let diff = TextDiff::configure()
        .timeout(Duration::from_secs(2))
        .diff_lines(old, new);
    let body = diff
        .unified_diff()
        .missing_newline_hint(true)
        .header(from, to)
        .to_string();
    if !body.is_empty() {
        return body;
    }
    let only = if from == NO_FILE || to == NO_FILE {
        "(an empty file)"
    } else {
        "(no change)"
    };
    format!("--- {from}\n+++ {to}\n{only}\n")
}
