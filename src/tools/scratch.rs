//! A throw-away copy of a workspace: what a program does to the files is seen there, and nowhere else.
//!
//! Nothing here changes the workspace, follows a link, or copies what is hidden from tools. The copy goes when it is
//! dropped; what a process left that died goes at the next start ([`remove_all`]).

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, FileType, Stat};
use tokio_util::sync::CancellationToken;

use crate::protocol::file_change::FileFate;
use crate::protocol::rehearsal::RehearsedFile;
use crate::tools::file_version::{NO_FILE, unified};
use crate::tools::guard::{Guard, open_regular};
use crate::tools::walk::{End, Entry, EntryKind, Limits, Step, walk};

/// Most bytes of a workspace that is copied.
pub const MAX_BYTES: u64 = 256 << 20;
/// Most files and directories of it.
pub const MAX_ENTRIES: usize = 20_000;
/// Most bytes by which a program may make the copy grow, and most bytes of one file.
pub const MAX_WRITTEN: u64 = 64 << 20;
/// Most files that are told.
pub const MAX_TOLD: usize = 200;
/// Most bytes of a file whose difference is shown, and of all differences.
const MAX_TEXT: u64 = 64 * 1024;
const MAX_DIFFS: usize = 256 * 1024;
/// Most bytes of a file that is compared byte by byte because only its times or its mode are new.
const MAX_COMPARED: u64 = MAX_BYTES;
/// Longest copying, and longest looking at the copy afterwards.
const LONGEST: Duration = Duration::from_secs(30);
/// Deepest directory.
const DEEPEST: usize = 128;
/// Tries to remove a copy in which a killed program may still be writing, and the time between two.
const TRIES: u32 = 40;
const PAUSE: Duration = Duration::from_millis(50);

/// Why a workspace cannot be copied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScratchError {
    /// Too many files.
    #[error("the workspace has more than {MAX_ENTRIES} files and directories")]
    Entries,
    /// Too large.
    #[error("the workspace has more than {} MiB", MAX_BYTES >> 20)]
    Bytes,
    /// Too slow.
    #[error("copying the workspace takes longer than {} s", LONGEST.as_secs())]
    Time,
    /// No room.
    #[error("the disk has {} MiB left; the copy and what a program may write take {} MiB", free >> 20, needed >> 20)]
    Disk {
        /// Bytes that are left.
        free: u64,
        /// Bytes that are needed.
        needed: u64,
    },
    /// Somebody gave up.
    #[error("cancelled before it started")]
    Cancelled,
    /// The system would not.
    #[error("`{}` cannot be copied: {problem}", path.display())]
    Unreadable {
        /// What.
        path: PathBuf,
        /// Why.
        problem: String,
    },
}

fn unreadable(path: &Path, error: impl std::fmt::Display) -> ScratchError {
    ScratchError::Unreadable {
        path: path.to_owned(),
        problem: error.to_string(),
    }
}

/// By what a file is told from what it was: no program can set the time of the last change of its inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    kind: FileType,
    inode: u64,
    changed: (i64, i64),
    mode: u32,
    size: u64,
}

impl Stamp {
    fn of(found: &Stat) -> Self {
        #[expect(
            clippy::useless_conversion,
            reason = "the types of these fields depend on the system"
        )]
        let changed = (
            i64::from(found.st_ctime),
            i64::try_from(found.st_ctime_nsec).unwrap_or(0),
        );
        Self {
            kind: FileType::from_raw_mode(found.st_mode),
            inode: found.st_ino,
            changed,
            mode: permissions(found),
            size: u64::try_from(found.st_size).unwrap_or(0),
        }
    }

    fn is_directory(self) -> bool {
        self.kind == FileType::Directory
    }
}

/// The bits of a mode that are no type.
#[expect(
    clippy::useless_conversion,
    reason = "the type of this field depends on the system"
)]
fn permissions(found: &Stat) -> u32 {
    u32::from(found.st_mode) & 0o7777
}

/// What a program did to the files of a copy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// The files, in order of their paths; at most [`MAX_TOLD`].
    pub files: Vec<RehearsedFile>,
    /// How many more there are.
    pub more: u64,
    /// Why not all of it was looked at.
    pub incomplete: Option<String>,
}

/// A copy of a workspace, until it is dropped.
pub struct Scratch {
    root: PathBuf,
    files: PathBuf,
    before: BTreeMap<PathBuf, Stamp>,
}

impl Scratch {
    /// Copies the workspace of a guard to a new directory `name` in `place`. Blocks.
    pub fn copy(
        guard: &Guard,
        place: &Path,
        name: &str,
        cancel: &CancellationToken,
    ) -> Result<Self, ScratchError> {
        let bytes = measure(guard, cancel)?;
        let root = place.join(name);
        let files = root.join("workspace");
        std::fs::create_dir_all(place).map_err(|error| unreadable(place, error))?;
        let space = rustix::fs::statvfs(place).map_err(|error| unreadable(place, error))?;
        let (free, needed) = (
            space.f_bavail.saturating_mul(space.f_frsize),
            bytes + MAX_WRITTEN,
        );
        if free < needed {
            return Err(ScratchError::Disk { free, needed });
        }
        // From here on, whatever happens removes it.
        let mut scratch = Self {
            root,
            files,
            before: BTreeMap::new(),
        };
        private_directory(&scratch.root).map_err(|error| unreadable(&scratch.root, error))?;
        std::fs::create_dir(&scratch.files).map_err(|error| unreadable(&scratch.files, error))?;
        copy_files(guard, &scratch.files, cancel)?;
        scratch.files =
            (scratch.files.canonicalize()).map_err(|error| unreadable(&scratch.files, error))?;
        let (before, end) =
            stamps(&scratch.guard(), cancel).map_err(|error| unreadable(&scratch.files, error))?;
        ended(end)?;
        scratch.before = before;
        Ok(scratch)
    }

    /// Where the copy is (absolute, canonical).
    pub fn files(&self) -> &Path {
        &self.files
    }

    /// The guard of the copy.
    fn guard(&self) -> Guard {
        Guard::of(self.files.clone(), Vec::new())
    }

    /// What is different in the copy from the workspace it was made of. Blocks.
    pub fn changes(&self, workspace: &Guard, cancel: &CancellationToken) -> Changes {
        let copy = self.guard();
        let (after, end) = match stamps(&copy, cancel) {
            Ok(found) => found,
            Err(error) => {
                return Changes {
                    incomplete: Some(format!("the copy cannot be looked at: {error}")),
                    ..Changes::default()
                };
            }
        };
        let mut changes = Changes {
            incomplete: ended(end).err().map(|error| error.to_string()),
            ..Changes::default()
        };
        let mut room = MAX_DIFFS;
        let mut paths: Vec<&PathBuf> = self.before.keys().chain(after.keys()).collect();
        paths.sort_unstable();
        paths.dedup();
        for (at, path) in paths.iter().enumerate() {
            let (before, now) = (self.before.get(*path), after.get(*path));
            // What is in it tells it already.
            let next = paths.get(at + 1);
            let has_more = next.is_some_and(|next| next.starts_with(path));
            let whole = [before, now].into_iter().flatten();
            if before.is_none() != now.is_none()
                && has_more
                && whole.into_iter().all(|stamp| stamp.is_directory())
            {
                continue;
            }
            // Of a look that broke off nobody knows what is not there any more.
            if now.is_none() && changes.incomplete.is_some() {
                continue;
            }
            let told = Difference {
                path,
                workspace,
                copy: &copy,
                before: before.copied(),
                now: now.copied(),
            };
            if changes.files.len() >= MAX_TOLD {
                changes.more += u64::from(told.fate().is_some());
            } else if let Some(file) = told.told(&mut room) {
                changes.files.push(file);
            }
        }
        changes
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        remove_tree(&self.root);
    }
}

/// Removes every copy that a process left that died. Blocks.
pub fn remove_all(place: &Path) {
    remove_tree(place);
}

fn remove_tree(root: &Path) {
    for attempt in 0..TRIES {
        match std::fs::remove_dir_all(root) {
            Ok(()) => return,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return,
            Err(error) if attempt + 1 == TRIES => {
                tracing::warn!(path = %root.display(), %error, "cannot remove a copy of a workspace");
            }
            Err(_) => {
                // A program is still being killed, or took the right to write from a directory. No rights are given
                // while it may put a link in the place of one.
                std::thread::sleep(PAUSE);
                permit(root, 0);
            }
        }
    }
}

/// Gives its owner all rights to a directory and what is in it.
fn permit(directory: &Path, depth: usize) {
    let Ok(found) = std::fs::symlink_metadata(directory) else {
        return;
    };
    if !found.is_dir() || depth > DEEPEST * 2 {
        return;
    }
    let _ = std::fs::set_permissions(directory, std::fs::Permissions::from_mode(0o700));
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        permit(&entry.path(), depth + 1);
    }
}

fn private_directory(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    std::fs::DirBuilder::new().mode(0o700).create(path)
}

fn limits(cancel: &CancellationToken) -> Limits {
    Limits {
        depth: DEEPEST,
        entries: MAX_ENTRIES,
        time: LONGEST,
        cancel: cancel.clone(),
    }
}

fn ended(end: End) -> Result<(), ScratchError> {
    match end {
        End::Complete | End::Stopped => Ok(()),
        End::TooMany => Err(ScratchError::Entries),
        End::TimedOut => Err(ScratchError::Time),
        End::Cancelled => Err(ScratchError::Cancelled),
    }
}

fn each(
    guard: &Guard,
    cancel: &CancellationToken,
    visit: &mut dyn FnMut(&Entry<'_>) -> Step,
) -> Result<End, ScratchError> {
    let failed = |error: String| unreadable(guard.workspace(), error);
    let start = guard
        .resolve(".")
        .map_err(|error| failed(error.to_string()))?;
    walk(guard, &start, &limits(cancel), visit).map_err(|error| failed(error.to_string()))
}

/// Bytes of the files of a workspace that can be copied.
fn measure(guard: &Guard, cancel: &CancellationToken) -> Result<u64, ScratchError> {
    let mut bytes = 0_u64;
    let end = each(guard, cancel, &mut |entry| {
        bytes = bytes.saturating_add(entry.size);
        if bytes > MAX_BYTES {
            Step::Stop
        } else {
            Step::Next
        }
    })?;
    ended(end)?;
    if bytes > MAX_BYTES {
        return Err(ScratchError::Bytes);
    }
    Ok(bytes)
}

fn copy_files(guard: &Guard, to: &Path, cancel: &CancellationToken) -> Result<(), ScratchError> {
    let mut problem = None;
    let mut room = MAX_BYTES;
    let mut directories: Vec<(PathBuf, u32)> = Vec::new();
    let began = Instant::now();
    let end = each(guard, cancel, &mut |entry| {
        let place = to.join(entry.below);
        let copied = match entry.kind {
            EntryKind::Directory => std::fs::create_dir(&place).map(|()| {
                let mode = mode_of(entry).unwrap_or(0o755);
                directories.push((place.clone(), mode));
            }),
            EntryKind::File if began.elapsed() > LONGEST => {
                problem = Some(ScratchError::Time);
                return Step::Stop;
            }
            EntryKind::File => match copy_file(entry, &place, room) {
                Ok(bytes) => {
                    room -= bytes;
                    Ok(())
                }
                Err(error) if error.kind() == std::io::ErrorKind::FileTooLarge => {
                    problem = Some(ScratchError::Bytes);
                    return Step::Stop;
                }
                Err(error) => Err(error),
            },
            EntryKind::Link => copy_link(entry, &place),
            // Nothing can be read from it without somebody at its other end.
            EntryKind::Other => Ok(()),
        };
        match copied {
            Ok(()) => Step::Next,
            Err(error) => {
                problem = Some(unreadable(entry.below, error));
                Step::Stop
            }
        }
    })?;
    if let Some(problem) = problem {
        return Err(problem);
    }
    ended(end)?;
    // The deepest first: one that cannot be written is only made so when it has everything.
    for (path, mode) in directories.iter().rev() {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode & 0o1777))
            .map_err(|error| unreadable(path, error))?;
    }
    Ok(())
}

fn stat(entry: &Entry<'_>) -> std::io::Result<Stat> {
    Ok(rustix::fs::statat(
        entry.parent,
        entry.name,
        AtFlags::SYMLINK_NOFOLLOW,
    )?)
}

fn mode_of(entry: &Entry<'_>) -> Option<u32> {
    stat(entry).ok().map(|found| permissions(&found))
}

/// Copies one file; its bytes. Where the file system can, both share them until one is changed.
fn copy_file(entry: &Entry<'_>, to: &Path, room: u64) -> std::io::Result<u64> {
    let mut from = open_regular(entry.parent, entry.name)?;
    let found = from.metadata()?;
    if found.len() > room {
        return Err(std::io::ErrorKind::FileTooLarge.into());
    }
    let mut copy = File::create_new(to)?;
    let bytes = if share(&copy, &from) {
        found.len()
    } else {
        let bytes = std::io::copy(&mut (&mut from).take(room.saturating_add(1)), &mut copy)?;
        if bytes > room {
            return Err(std::io::ErrorKind::FileTooLarge.into());
        }
        bytes
    };
    let mode = found.permissions().mode();
    copy.set_permissions(std::fs::Permissions::from_mode(mode & 0o777))?;
    if let Ok(modified) = found.modified() {
        // Programs like make go by it; one file without it is no reason to stop.
        let _ = copy.set_modified(modified);
    }
    Ok(bytes)
}

#[cfg(target_os = "linux")]
fn share(to: &File, from: &File) -> bool {
    rustix::fs::ioctl_ficlone(to, from).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn share(_: &File, _: &File) -> bool {
    false
}

fn target(parent: &OwnedFd, name: &std::ffi::OsStr) -> std::io::Result<PathBuf> {
    let link = rustix::fs::readlinkat(parent, name, Vec::new())?;
    Ok(PathBuf::from(std::ffi::OsStr::from_bytes(link.as_bytes())))
}

fn copy_link(entry: &Entry<'_>, to: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(target(entry.parent, entry.name)?, to)
}

type Stamps = BTreeMap<PathBuf, Stamp>;

fn stamps(guard: &Guard, cancel: &CancellationToken) -> Result<(Stamps, End), ScratchError> {
    let mut found = BTreeMap::new();
    let end = each(guard, cancel, &mut |entry| {
        if let Ok(stat) = stat(entry) {
            found.insert(entry.below.to_owned(), Stamp::of(&stat));
        }
        Step::Next
    })?;
    Ok((found, end))
}

/// One path, before and now.
struct Difference<'a> {
    path: &'a Path,
    workspace: &'a Guard,
    copy: &'a Guard,
    before: Option<Stamp>,
    now: Option<Stamp>,
}

impl Difference<'_> {
    fn fate(&self) -> Option<FileFate> {
        match (self.before, self.now) {
            (None, Some(_)) => Some(FileFate::Created),
            (Some(_), None) => Some(FileFate::Deleted),
            (Some(before), Some(now)) if before == now => None,
            // A file in it makes a directory look new.
            (Some(before), Some(now)) if before.is_directory() && now.is_directory() => {
                (before.mode != now.mode).then_some(FileFate::Changed)
            }
            (Some(before), Some(now)) => {
                let same = before.kind == now.kind
                    && before.mode == now.mode
                    && before.size == now.size
                    && self.has_same_content(now);
                (!same).then_some(FileFate::Changed)
            }
            (None, None) => None,
        }
    }

    fn has_same_content(&self, now: Stamp) -> bool {
        match now.kind {
            FileType::RegularFile => {
                let read = |guard| bytes(guard, self.path, MAX_COMPARED);
                matches!((read(self.workspace), read(self.copy)), (Some(old), Some(new)) if old == new)
            }
            FileType::Symlink => link(self.workspace, self.path)
                .is_some_and(|old| link(self.copy, self.path) == Some(old)),
            _ => false,
        }
    }

    /// What is told of it; none = it is as it was. `room`: bytes that differences may still have.
    fn told(&self, room: &mut usize) -> Option<RehearsedFile> {
        let fate = self.fate()?;
        let text = |guard: &Guard, stamp: Option<Stamp>| match stamp {
            Some(stamp) if stamp.kind == FileType::RegularFile => {
                let bytes = bytes(guard, self.path, MAX_TEXT)?;
                String::from_utf8(bytes)
                    .ok()
                    .filter(|text| !text.contains('\0'))
            }
            Some(_) => None,
            None => Some(String::new()),
        };
        let path = self.path.to_string_lossy().into_owned();
        let (old, new) = (text(self.workspace, self.before), text(self.copy, self.now));
        let diff = old.zip(new).and_then(|(old, new)| {
            let name = |side: char, there: bool| {
                if there {
                    format!("{side}/{path}")
                } else {
                    NO_FILE.to_owned()
                }
            };
            let (from, to) = (
                name('a', self.before.is_some()),
                name('b', self.now.is_some()),
            );
            let is_same = old == new && self.before.is_some() && self.now.is_some();
            let diff = (!is_same).then(|| unified(&old, &new, &from, &to))?;
            *room = room.checked_sub(diff.len())?;
            Some(diff)
        });
        Some(RehearsedFile {
            path,
            fate,
            bytes: (self.now)
                .filter(|now| now.kind == FileType::RegularFile)
                .map(|now| now.size),
            note: self.note(),
            diff,
        })
    }

    /// What is not in a difference of texts, in words.
    fn note(&self) -> Option<String> {
        match (self.before, self.now) {
            (_, Some(now)) if now.kind == FileType::Symlink => {
                let to = link(self.copy, self.path)?;
                Some(format!("a link to {}", to.to_string_lossy()))
            }
            (Some(before), Some(now)) if before.kind == now.kind && before.mode != now.mode => {
                Some(format!("mode {:o}, was {:o}", now.mode, before.mode))
            }
            (_, Some(now)) if now.is_directory() => Some("a directory".to_owned()),
            (Some(before), None) if before.is_directory() => Some("a directory".to_owned()),
            (_, Some(now)) if now.kind != FileType::RegularFile => {
                Some("a pipe, socket or device".to_owned())
            }
            _ => None,
        }
    }
}

/// The directory of a path and its name.
fn place<'p>(guard: &Guard, path: &'p Path) -> Option<(OwnedFd, &'p std::ffi::OsStr)> {
    let parents: Vec<_> = path
        .parent()?
        .components()
        .map(|part| part.as_os_str().to_owned())
        .collect();
    Some((guard.open_below(&parents).ok()?, path.file_name()?))
}

/// The bytes of a regular file; none = it has more than `most`, or cannot be read.
fn bytes(guard: &Guard, path: &Path, most: u64) -> Option<Vec<u8>> {
    let (parent, name) = place(guard, path)?;
    let file = open_regular(&parent, name).ok()?;
    if file.metadata().ok()?.len() > most {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(most.saturating_add(1))
        .read_to_end(&mut bytes)
        .ok()?;
    (bytes.len() as u64 <= most).then_some(bytes)
}

fn link(guard: &Guard, path: &Path) -> Option<PathBuf> {
    let (parent, name) = place(guard, path)?;
    target(&parent, name).ok()
}
