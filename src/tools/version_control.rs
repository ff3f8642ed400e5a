//! Whether git can bring back what a file holds now.
//!
//! No program runs and no configuration is read: the index of the repository names the exact bytes, and an object of
//! that name is there. Every doubt is a no: a linked worktree, a filter, an index of another format, an alternate
//! object directory.

use std::ffi::OsStr;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;

use rustix::fs::{AtFlags, Dir, Mode, OFlags, openat, statat};
use sha1::{Digest as _, Sha1};

use crate::protocol::hex::hex;
use crate::tools::guard::{Guard, GuardedPath, open_regular};
use crate::tools::place_names::GIT;

/// Largest index, and largest list of a pack, that is read, in bytes.
const MAX_LIST: u64 = 64 << 20;
/// Most files of the directory of packs that are looked at.
const MAX_PACK_FILES: usize = 200;
/// Bytes of the name of an object.
const NAME: usize = 20;
/// Bytes of an entry of the index before its path.
const ENTRY: usize = 62;
/// Where an entry of the index keeps the name of its object.
const ENTRY_NAME: usize = 40;
/// Where the names of objects begin in the list of a pack: behind its header and its table of 256 counts.
const PACK_NAMES: usize = 8 + 4 * 256;

/// The hash that gives a file of that size its name in git, to be filled with what it holds.
pub fn naming(size: u64) -> Sha1 {
    Sha1::new_with_prefix(format!("blob {size}\0"))
}

/// A file as the index of its repository names it.
pub struct IndexedFile {
    git: OwnedFd,
    object: [u8; NAME],
}

/// What the index names at that path; the error says why git cannot bring the file back, whatever it holds.
pub fn find(guard: &Guard, path: &GuardedPath) -> Result<IndexedFile, &'static str> {
    let components = path.components();
    let (root, git) = (0..components.len())
        .rev()
        .find_map(|root| {
            let directory = guard.open_below(&components[..root]).ok()?;
            statat(&directory, GIT, AtFlags::SYMLINK_NOFOLLOW).ok()?;
            Some((root, open_directory(&directory, OsStr::new(GIT))))
        })
        .ok_or("no repository in the workspace")?;
    let git = git.ok_or("its repository lies elsewhere")?;
    let index = read(&git, OsStr::new("index")).ok_or("the repository has no index")?;
    let name = components[root..].join(OsStr::new("/"));
    match indexed(&index, name.as_bytes()) {
        None => Err("the index of the repository is not understood"),
        Some(Err(why)) => Err(why),
        Some(Ok(object)) => Ok(IndexedFile { git, object }),
    }
}

impl IndexedFile {
    /// Whether git can bring back the bytes that `hash` was filled with; the error says why not.
    pub fn restores(&self, hash: Sha1) -> Result<(), &'static str> {
        let object: [u8; NAME] = hash.finalize().into();
        if self.object != object {
            Err("changed since it was added")
        } else if is_kept(&self.git, &object) {
            Ok(())
        } else {
            Err("the repository has no copy")
        }
    }
}

fn open_directory(parent: &OwnedFd, name: &OsStr) -> Option<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(parent, name, flags, Mode::empty()).ok()
}

/// A whole file of bounded size.
fn read(directory: &OwnedFd, name: &OsStr) -> Option<Vec<u8>> {
    let file = open_regular(directory, name).ok()?;
    let mut bytes = Vec::new();
    file.take(MAX_LIST + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= MAX_LIST).then_some(bytes)
}

fn number(bytes: &[u8], at: usize) -> Option<usize> {
    let bytes = bytes.get(at..at.checked_add(4)?)?;
    let number = u32::from_be_bytes(bytes.try_into().ok()?);
    usize::try_from(number).ok()
}

/// The object that an index names for a path without a conflict; the error says why it names none. None = the index is
/// not understood.
pub fn indexed(index: &[u8], path: &[u8]) -> Option<Result<[u8; NAME], &'static str>> {
    let (body, sum) = index.split_at_checked(index.len().checked_sub(NAME)?)?;
    // A repository with longer names fails here too.
    if Sha1::digest(body).as_slice() != sum || !body.starts_with(b"DIRC") {
        return None;
    }
    if !matches!(number(body, 4)?, 2 | 3) {
        return None;
    }
    let (mut at, mut found) = (12, None);
    for _ in 0..number(body, 8)? {
        let entry = body.get(at..)?;
        let flags = u16::from_be_bytes(entry.get(ENTRY - 2..ENTRY)?.try_into().ok()?);
        let is_extended = flags & 0x4000 != 0;
        let start = if is_extended { ENTRY + 2 } else { ENTRY };
        let length = entry.get(start..)?.iter().position(|byte| *byte == 0)?;
        // A conflict or a file that is only meant to be added has no bytes to come back.
        let is_plain = flags & 0x3000 == 0 && !is_extended;
        if &entry[start..start + length] == path && is_plain {
            found = entry.get(ENTRY_NAME..ENTRY_NAME + NAME)?.try_into().ok();
        }
        at += (start + length) / 8 * 8 + 8;
    }
    Some(found.ok_or("not tracked"))
}

/// Whether an object is in the repository, alone or in a pack.
fn is_kept(git: &OwnedFd, object: &[u8; NAME]) -> bool {
    let Some(objects) = open_directory(git, OsStr::new("objects")) else {
        return false;
    };
    let name = hex(object);
    let (directory, file) = name.split_at(2);
    open_directory(&objects, OsStr::new(directory))
        .is_some_and(|directory| open_regular(&directory, OsStr::new(file)).is_ok())
        || open_directory(&objects, OsStr::new("pack"))
            .is_some_and(|packs| is_packed(&packs, object))
}

fn is_packed(packs: &OwnedFd, object: &[u8; NAME]) -> bool {
    let Ok(entries) = Dir::read_from(packs) else {
        return false;
    };
    entries.take(MAX_PACK_FILES).flatten().any(|entry| {
        let name = entry.file_name().to_bytes();
        let Some(stem) = name.strip_suffix(b".idx") else {
            return false;
        };
        let pack = [stem, b".pack"].concat();
        open_regular(packs, OsStr::from_bytes(&pack)).is_ok()
            && read(packs, OsStr::from_bytes(name)).is_some_and(|list| lists(&list, object))
    })
}

/// Whether the list of a pack (its second version) names an object.
fn lists(list: &[u8], object: &[u8; NAME]) -> bool {
    let first = usize::from(object[0]);
    let count = |byte: usize| number(list, 8 + 4 * byte);
    let range = || {
        let from = first.checked_sub(1).map_or(Some(0), count)?;
        let names = list.get(PACK_NAMES + from * NAME..PACK_NAMES + count(first)? * NAME)?;
        Some(names.chunks_exact(NAME).any(|name| name == object))
    };
    list.starts_with(b"\xfftOc\0\0\0\x02") && range().unwrap_or(false)
}
