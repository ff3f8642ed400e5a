//! What a file of the workspace holds at one moment, and its difference to what it would hold.
//!
//! Two versions with one digest hold the same bytes.

use std::fs::{File, Metadata};
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::time::Duration;

use memchr::{memchr, memchr_iter, memrchr};
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
        let bytes = self
            .bytes
            .as_deref()
            .filter(|bytes| memchr(0, bytes).is_none())?;
        std::str::from_utf8(bytes).ok()
    }
}

/// Reads a checked file. Its bytes are kept where there are at most `max_kept`.
pub fn read(guard: &Guard, path: &GuardedPath, max_kept: u64) -> std::io::Result<FileVersion> {
    let mut file = guard.open_file(path)?;
    let found = file.metadata()?;
    // Git's name of the bytes matters only where its index has one.
    let indexed = version_control::find(guard, path);
    let mut indexed = indexed.map(|indexed| (indexed, version_control::naming(found.len())));
    let mut hash = Sha256::new();
    let mut kept = Vec::with_capacity(usize::try_from(found.len().min(max_kept)).unwrap_or(0));
    let mut size = 0_u64;
    each_chunk(&mut file, |chunk| {
        hash.update(chunk);
        if let Ok((_, object)) = &mut indexed {
            object.update(chunk);
        }
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
        restorable: indexed.and_then(|(indexed, object)| indexed.restores(object)),
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

/// Bytes that are compared at once.
const BLOCK: usize = 4096;
/// Lines around a change that a difference shows.
const CONTEXT: usize = 3;

/// The complete difference of two texts as a unified diff. `from` and `to` are its head.
pub fn unified(old: &str, new: &str, from: &str, to: &str) -> String {
    let mut out = format!("--- {from}\n+++ {to}\n");
    if old == new {
        out.push_str(if from == NO_FILE || to == NO_FILE {
            "(an empty file)\n"
        } else {
            "(no change)\n"
        });
        return out;
    }
    // A change is small and its file may be large: what both begin and end with is not compared line by line.
    let start = common_start(old, new);
    let above = memchr_iter(b'\n', &old.as_bytes()[..start]).count();
    let (old, new) = (&old[start..], &new[start..]);
    let end = common_end(old, new);
    let (old, new) = (&old[..old.len() - end], &new[..new.len() - end]);
    let diff = TextDiff::configure()
        .timeout(Duration::from_secs(2))
        .diff_lines(old, new);
    let mut hunks = diff.unified_diff();
    hunks.context_radius(CONTEXT).missing_newline_hint(true);
    for hunk in hunks.iter_hunks() {
        let hunk = hunk.to_string();
        let (head, lines) = hunk.split_once('\n').unwrap_or((&hunk, ""));
        out.push_str(&moved_down(head, above));
        out.push('\n');
        out.push_str(lines);
    }
    out
}

/// The head of a part with so many more lines above it.
fn moved_down(head: &str, lines: usize) -> String {
    let moved = head.split(' ').map(|range| {
        let (sign, numbers) = range.split_at(range.len().min(1));
        let (first, length) = numbers.split_once(',').unwrap_or((numbers, ""));
        match first.parse::<usize>() {
            Ok(first) if matches!(sign, "-" | "+") => {
                let comma = if length.is_empty() { "" } else { "," };
                format!("{sign}{}{comma}{length}", first + lines)
            }
            Ok(_) | Err(_) => range.to_owned(),
        }
    });
    moved.collect::<Vec<_>>().join(" ")
}

/// Bytes of the whole lines that both texts begin with, without those that a difference shows.
fn common_start(old: &str, new: &str) -> usize {
    let (left, right) = (old.as_bytes(), new.as_bytes());
    let blocks = left.chunks_exact(BLOCK).zip(right.chunks_exact(BLOCK));
    let same = blocks.take_while(|(left, right)| left == right).count() * BLOCK;
    let pairs = left[same..].iter().zip(&right[same..]);
    let same = same + pairs.take_while(|(left, right)| left == right).count();
    let line_start = |text: &[u8]| memrchr(b'\n', text).map_or(0, |end| end + 1);
    let mut start = line_start(&old.as_bytes()[..same]);
    for _ in 0..CONTEXT {
        start = line_start(&old.as_bytes()[..start.saturating_sub(1)]);
    }
    start
}

/// The same for the lines that both end with.
fn common_end(old: &str, new: &str) -> usize {
    let (left, right) = (old.as_bytes(), new.as_bytes());
    let blocks = left.rchunks_exact(BLOCK).zip(right.rchunks_exact(BLOCK));
    let same = blocks.take_while(|(left, right)| left == right).count() * BLOCK;
    let (left, right) = (&left[..left.len() - same], &right[..right.len() - same]);
    let pairs = left.iter().rev().zip(right.iter().rev());
    let same = same + pairs.take_while(|(left, right)| left == right).count();
    let mut start = old.len() - same;
    // A line that ends the same may begin otherwise.
    for _ in 0..=CONTEXT {
        match memchr(b'\n', &old.as_bytes()[start..]) {
            Some(end) => start += end + 1,
            None => return 0,
        }
    }
    old.len() - start
}
