//! Bounded walks of the workspace for list_files and search_files.
//!
//! No link is followed, not even one that takes a directory's place during the walk: every directory is
//! opened below the descriptor of its parent. Nothing hidden is named.

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use globset::{GlobBuilder, GlobMatcher};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use tokio_util::sync::CancellationToken;

use crate::tools::guard::{Guard, GuardedPath};
use crate::tools::read_file::read_outcome;
use crate::tools::tool::{Cacheable, DependsOn, PrepareError, ToolOutcome};

/// Most entries of one directory that are read.
const MAX_PER_DIRECTORY: usize = 50_000;

/// How long a walk's result may be given again: walking is what costs.
pub const WALK: Cacheable = Cacheable {
    ttl: Duration::from_secs(30),
    depends_on: DependsOn::Workspace,
};

/// The end of a call that walked: what it found, and how the walk ended.
pub(crate) fn outcome(walked: Result<(String, End), String>) -> ToolOutcome {
    let partial = walked.as_ref().is_ok_and(|(_, end)| *end != End::Complete);
    ToolOutcome {
        partial,
        ..read_outcome(walked.map(|(found, _)| found))
    }
}

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link; never followed.
    Link,
    /// A device, a pipe or a socket.
    Other,
}

/// One entry met on a walk.
pub struct Entry<'a> {
    /// Path below the directory where the walk began.
    pub below: &'a Path,
    /// Its name.
    pub name: &'a OsStr,
    /// What it is.
    pub kind: EntryKind,
    /// Size in bytes; 0 for anything but a file.
    pub size: u64,
    /// The open directory it is in.
    pub parent: &'a OwnedFd,
}

/// Whether a walk goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// On.
    Next,
    /// Not into this directory.
    Skip,
    /// Enough.
    Stop,
}

/// How a walk ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Everything was seen.
    Complete,
    /// The visitor had enough.
    Stopped,
    /// More entries than a walk looks at.
    TooMany,
    /// Too slow.
    TimedOut,
    /// The call was cancelled.
    Cancelled,
}

/// Bounds of a walk.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Levels of directories; 1 = the entries of the directory itself.
    pub depth: usize,
    /// Most entries looked at.
    pub entries: usize,
    /// Longest time.
    pub time: Duration,
    /// Ends it early.
    pub cancel: CancellationToken,
}

/// A glob as the file tools understand it: without a slash it matches names at any depth, with one it
/// matches paths below the directory asked for; `*` does not cross directories, `**` does.
#[derive(Debug, Clone)]
pub struct Pattern {
    matcher: GlobMatcher,
    names: bool,
}

impl Pattern {
    /// Parses a glob; the error says what is wrong with it.
    pub fn parse(glob: &str) -> Result<Self, PrepareError> {
        if glob.len() > 1000 {
            return Err(PrepareError::Invalid(
                "glob: longer than 1000 bytes".to_owned(),
            ));
        }
        let matcher = GlobBuilder::new(glob.strip_prefix("./").unwrap_or(glob))
            .literal_separator(true)
            .build()
            .map_err(|error| PrepareError::Invalid(format!("glob: {error}")))?
            .compile_matcher();
        Ok(Self {
            matcher,
            names: !glob.contains('/'),
        })
    }

    /// Whether it matches an entry.
    pub fn matches(&self, entry: &Entry<'_>) -> bool {
        if self.names {
            self.matcher.is_match(entry.name)
        } else {
            self.matcher.is_match(entry.below)
        }
    }
}

/// Walks a checked directory in order of names, each directory before what it holds. Directories that
/// cannot be read are passed over.
pub fn walk(
    guard: &Guard,
    start: &GuardedPath,
    limits: &Limits,
    visit: &mut dyn FnMut(&Entry<'_>) -> Step,
) -> std::io::Result<End> {
    let root = guard.open_directory(start)?;
    let mut run = Run {
        guard,
        start: &start.absolute,
        limits,
        visit,
        seen: 0,
        began: Instant::now(),
    };
    Ok(run
        .directory(&root, Path::new(""), 1)
        .unwrap_or(End::Complete))
}

struct Run<'a> {
    guard: &'a Guard,
    start: &'a Path,
    limits: &'a Limits,
    visit: &'a mut dyn FnMut(&Entry<'_>) -> Step,
    seen: usize,
    began: Instant,
}

impl Run<'_> {
    /// `None`: seen to the end.
    fn directory(&mut self, directory: &OwnedFd, below: &Path, depth: usize) -> Option<End> {
        for name in names(directory) {
            if self.limits.cancel.is_cancelled() {
                return Some(End::Cancelled);
            }
            if self.began.elapsed() > self.limits.time {
                return Some(End::TimedOut);
            }
            if self.seen >= self.limits.entries {
                return Some(End::TooMany);
            }
            self.seen += 1;
            let path: PathBuf = below.join(&name);
            if self.guard.is_hidden(&self.start.join(&path)) {
                continue;
            }
            let Ok(found) = rustix::fs::statat(directory, &name, AtFlags::SYMLINK_NOFOLLOW) else {
                continue;
            };
            let kind = match FileType::from_raw_mode(found.st_mode) {
                FileType::RegularFile => EntryKind::File,
                FileType::Directory => EntryKind::Directory,
                FileType::Symlink => EntryKind::Link,
                FileType::Fifo
                | FileType::Socket
                | FileType::CharacterDevice
                | FileType::BlockDevice
                | FileType::Unknown => EntryKind::Other,
            };
            let size = if kind == EntryKind::File {
                u64::try_from(found.st_size).unwrap_or(0)
            } else {
                0
            };
            let entry = Entry {
                below: &path,
                name: &name,
                kind,
                size,
                parent: directory,
            };
            match (self.visit)(&entry) {
                Step::Stop => return Some(End::Stopped),
                Step::Skip => continue,
                Step::Next => {}
            }
            if kind != EntryKind::Directory || depth >= self.limits.depth {
                continue;
            }
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            if let Ok(inner) = rustix::fs::openat(directory, &name, flags, Mode::empty())
                && let Some(end) = self.directory(&inner, &path, depth + 1)
            {
                return Some(end);
            }
        }
        None
    }
}

fn names(directory: &OwnedFd) -> Vec<OsString> {
    let Ok(entries) = Dir::read_from(directory) else {
        return Vec::new();
    };
    let mut names: Vec<OsString> = entries
        .flatten()
        .map(|entry| OsStr::from_bytes(entry.file_name().to_bytes()).to_owned())
        .filter(|name| name != "." && name != "..")
        .take(MAX_PER_DIRECTORY)
        .collect();
    names.sort_unstable();
    names
}
