//! One look through a workspace: places that make programs run, bytes on the disk, and set-user-ID bits.
//!
//! A run of a program looks once before and once after; what both need is found in one walk.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;
use tokio_util::sync::CancellationToken;

use crate::protocol::leftovers::{MOST_NAMED, SetAside};
use crate::tools::guard::Guard;
use crate::tools::place::{ExecutableDirectory, Identity, PlaceIndex, Protection};
use crate::tools::place_names::{
    GIT, GIT_PARTS, HEAD, below_git, is, is_any, is_git_part, is_repository, is_setting,
};

/// Most entries looked at before a run, and after it or while it runs.
const MOST_BEFORE: usize = 1_000_000;
const MOST_AFTER: usize = 8_000_000;
/// Longest look before a run, and after it.
const LONGEST_BEFORE: Duration = Duration::from_secs(10);
const LONGEST_AFTER: Duration = Duration::from_secs(120);
/// Longest measuring of the disk while a program runs.
const LONGEST_MEASURE: Duration = Duration::from_secs(30);
/// Deepest directory looked at, and deepest one that is measured while a program runs.
pub(super) const DEEPEST: usize = 128;
const DEEPEST_MEASURED: usize = 1024;
/// Longest name of a file.
const LONGEST_NAME: usize = 255;
/// Tries to find a name that is free.
const TRIES: usize = 32;
/// Unit of the kernel's count of blocks.
const BLOCK: u64 = 512;
/// Most files named that lost a bit.
const MOST_CLEARED: usize = 1000;

/// Most places of one workspace, and most bytes of their paths: each is a mount of its own.
pub(super) const MOST_PLACES: usize = 500;
pub(super) const MOST_PLACE_BYTES: usize = 64 * 1024;

/// Why a workspace cannot be looked through to its end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScanError {
    /// Too large.
    #[error("it has more than {0} files and directories")]
    Entries(usize),
    /// Too deep.
    #[error("`{}` is more than {DEEPEST} directories deep", .0.display())]
    Depth(PathBuf),
    /// Too slow.
    #[error("looking through it takes longer than {} s", .0.as_secs())]
    Time(Duration),
    /// More places than can be protected.
    #[error(
        "it has more than {MOST_PLACES} places (.git, .vscode, .envrc and the like) to protect, or their paths are too long"
    )]
    Places,
    /// The system would not say.
    #[error("`{}` cannot be read: {problem}", path.display())]
    Unreadable {
        /// What.
        path: PathBuf,
        /// Why.
        problem: String,
    },
}

/// What is in every name that is given to something set aside.
fn mark(tag: &str) -> String {
    format!("set-aside-{tag}")
}

/// Renames one place where it stands, so that no border between file systems is in the way.
pub(super) fn set_aside(
    guard: &Guard,
    components: &[OsString],
    tag: &str,
) -> std::io::Result<String> {
    let Some((name, parents)) = components.split_last() else {
        return Err(Errno::INVAL.into());
    };
    let parent = guard.open_below(parents)?;
    let mut permitted = false;
    for attempt in 0..TRIES {
        let mut new = format!("{}.{}", name.to_string_lossy(), mark(tag));
        if new.len() + 4 > LONGEST_NAME {
            new = mark(tag);
        }
        if attempt > 0 {
            new = format!("{new}-{attempt}");
        }
        match rustix::fs::renameat_with(&parent, name, &parent, &new, RenameFlags::NOREPLACE) {
            Ok(()) => return Ok(new),
            Err(Errno::EXIST) => {}
            // The program took the right to write from the directory.
            Err(Errno::ACCESS) if !permitted => {
                permitted = true;
                let mode = Mode::from_raw_mode(rustix::fs::fstat(&parent)?.st_mode);
                rustix::fs::fchmod(&parent, mode | Mode::RWXU)?;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Err(Errno::EXIST.into())
}

/// A directory that is still to be looked at.
struct Directory {
    components: Vec<OsString>,
    /// Whether it lies in something new: that is set aside as a whole.
    in_new: bool,
    /// Whether it is the `info` of a git directory that was there before.
    is_info: bool,
    /// Whether it lies in a place that is read-only as a whole: only its bytes count.
    is_counted: bool,
}

/// What a look is for.
#[derive(Clone, Copy)]
pub(super) enum Purpose<'a> {
    /// Everything that is there, before a run.
    Before,
    /// What a run added.
    After(&'a PlaceIndex),
    /// Only bytes, while a program runs.
    Measure(&'a CancellationToken),
}

/// One look through a workspace, directory by directory. No link is followed.
pub(super) struct Scan<'a> {
    guard: &'a Guard,
    purpose: Purpose<'a>,
    most: usize,
    longest: Duration,
    began: Instant,
    seen: usize,
    pub(super) places: Vec<ExecutableDirectory>,
    pub(super) repositories: HashSet<(u64, u64)>,
    /// Bytes on the disk.
    pub(super) bytes: u64,
    /// Files of several names that were counted.
    counted: HashSet<(u64, u64)>,
    /// Files that lost a set-user-ID or set-group-ID bit.
    pub(super) cleared: Vec<PathBuf>,
    /// Whether a file kept one.
    pub(super) set_id_left: bool,
    /// What names that were given to something set aside contain; none = they are not looked for.
    mark: Option<String>,
    /// What has such a name.
    pub(super) renamed: Vec<SetAside>,
    todo: Vec<Directory>,
    /// The first reason why something was left out.
    left_out: Option<ScanError>,
}

impl<'a> Scan<'a> {
    pub(super) fn new(guard: &'a Guard, purpose: Purpose<'a>) -> Self {
        let (most, longest) = match purpose {
            Purpose::Before => (MOST_BEFORE, LONGEST_BEFORE),
            Purpose::After(_) => (MOST_AFTER, LONGEST_AFTER),
            Purpose::Measure(_) => (MOST_AFTER, LONGEST_MEASURE),
        };
        Self {
            guard,
            purpose,
            most,
            longest,
            began: Instant::now(),
            seen: 0,
            places: Vec::new(),
            repositories: HashSet::new(),
            bytes: 0,
            counted: HashSet::new(),
            cleared: Vec::new(),
            set_id_left: false,
            mark: None,
            renamed: Vec::new(),
            todo: vec![Directory {
                components: Vec::new(),
                in_new: false,
                is_info: false,
                is_counted: matches!(purpose, Purpose::Measure(_)),
            }],
            left_out: None,
        }
    }

    /// Also lists what has a name that [`set_aside`] gives with this tag.
    pub(super) fn look_for_names_of(&mut self, tag: &str) {
        self.mark = Some(mark(tag));
    }

    fn before(&self) -> Option<&'a PlaceIndex> {
        match self.purpose {
            Purpose::After(before) => Some(before),
            Purpose::Before | Purpose::Measure(_) => None,
        }
    }

    /// On an error the places found so far are there nevertheless.
    pub(super) fn run(&mut self) -> Result<(), ScanError> {
        while let Some(directory) = self.todo.pop() {
            if let Purpose::Measure(cancel) = self.purpose
                && cancel.is_cancelled()
            {
                break;
            }
            self.directory(&directory)?;
        }
        self.left_out.take().map_or(Ok(()), Err)
    }

    fn directory(&mut self, directory: &Directory) -> Result<(), ScanError> {
        let path = || directory.components.iter().collect::<PathBuf>();
        let Some(opened) = self.open(&directory.components) else {
            self.set_id_left |= directory.components.is_empty();
            return Ok(());
        };
        let unreadable = |error: Errno| ScanError::Unreadable {
            path: path(),
            problem: error.to_string(),
        };
        let mut entries = Vec::new();
        for entry in Dir::read_from(&opened).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            self.seen += 1;
            if self.seen > self.most {
                return Err(ScanError::Entries(self.most));
            }
            if self.seen.is_multiple_of(1024) && self.began.elapsed() > self.longest {
                return Err(ScanError::Time(self.longest));
            }
            entries.push((name.to_owned(), entry.file_type()));
        }
        let has = |word: &str| entries.iter().any(|(name, _)| name == word);
        let is_repository = !directory.is_counted && is_repository(has);
        let mut is_new = false;
        if is_repository {
            let number = rustix::fs::fstat(&opened).map_err(unreadable)?;
            let number = file_number(&number);
            is_new = self
                .before()
                .is_some_and(|before| !before.knows_repository(number.0, number.1));
            self.repositories.insert(number);
        }
        for (name, kind) in entries {
            let mut components = directory.components.clone();
            components.push(name.clone());
            self.note_name(&directory.components, &name);
            let by_path = || {
                below_git(&components).is_some_and(|below| {
                    is_git_part(below) && !is_git_part(&below[..below.len().saturating_sub(1)])
                })
            };
            let found = if directory.is_counted {
                None
            } else if is(&name, GIT) {
                Some(Protection::Pinned)
            } else if is_new {
                // Without its HEAD it is no git directory, and nothing else in it counts.
                (name == HEAD || is_setting(&name)).then_some(Protection::ReadOnly)
            } else if is_setting(&name)
                || (is_repository && is_any(&name, &GIT_PARTS))
                || (directory.is_info && is(&name, "attributes"))
                || (!directory.in_new && by_path())
            {
                Some(Protection::ReadOnly)
            } else {
                None
            };
            let mut in_new = directory.in_new || is_new;
            let mut enters = true;
            let mut is_counted = directory.is_counted;
            if let Some(protection) = found
                && let Some(place) =
                    describe(self.guard.workspace(), &opened, &components, protection)
            {
                let is_known = self
                    .before()
                    .is_none_or(|before| before.knows(&place.identity));
                // What is read-only as a whole holds nothing new, but takes its place on the disk.
                let is_closed = is_known && place.protection == Protection::ReadOnly;
                enters = !(is_closed && self.before().is_some());
                is_counted |= is_closed;
                in_new |= !is_known;
                if self.before().is_none() || !is_known {
                    self.places.push(place);
                }
            }
            let found = rustix::fs::statat(&opened, &name, AtFlags::SYMLINK_NOFOLLOW);
            let is_directory = match (&found, kind) {
                (Ok(found), _) => FileType::from_raw_mode(found.st_mode) == FileType::Directory,
                (Err(_), kind) => kind == FileType::Directory,
            };
            let is_hidden = self.is_hidden(&components);
            if let Ok(found) = found
                && !is_hidden
            {
                self.count(&found);
                self.clear(&opened, &name, &components, &found);
            }
            if !is_directory || !enters || is_hidden {
                continue;
            }
            let deepest = match self.purpose {
                Purpose::Before | Purpose::After(_) => DEEPEST,
                Purpose::Measure(_) => DEEPEST_MEASURED,
            };
            if components.len() > deepest {
                self.left_out
                    .get_or_insert(ScanError::Depth(components.iter().collect()));
                continue;
            }
            let is_info = is_repository && !is_new && is(&name, "info");
            self.todo.push(Directory {
                components,
                in_new,
                is_info,
                is_counted,
            });
        }
        Ok(())
    }

    fn note_name(&mut self, parents: &[OsString], name: &OsStr) {
        let Some(mark) = &self.mark else { return };
        let name = name.to_string_lossy();
        if self.renamed.len() >= MOST_NAMED || !name.contains(mark) {
            return;
        }
        // A name that was too long was replaced as a whole.
        let was = name.split(mark).next().unwrap_or_default();
        let was = was.strip_suffix('.').unwrap_or(was);
        let path: PathBuf = parents.iter().collect();
        let path = path.join(if was.is_empty() { &name } else { was });
        self.renamed.push(SetAside {
            path: path.to_string_lossy().into_owned(),
            name: name.into_owned(),
        });
    }

    fn count(&mut self, found: &Stat) {
        // A file of several names is counted once.
        if found.st_nlink <= 1 || self.counted.insert(file_number(found)) {
            self.bytes += u64::try_from(found.st_blocks).unwrap_or(0) * BLOCK;
        }
    }

    /// After a run: takes set-user-ID and set-group-ID bits from a file.
    fn clear(&mut self, parent: &OwnedFd, name: &OsStr, components: &[OsString], found: &Stat) {
        if self.before().is_none() || !has_set_id(found) {
            return;
        }
        match clear_set_id(parent, name) {
            Ok(true) if self.cleared.len() < MOST_CLEARED => {
                self.cleared.push(components.iter().collect());
            }
            Ok(_) => {}
            Err(_) => self.set_id_left = true,
        }
    }

    fn is_hidden(&self, components: &[OsString]) -> bool {
        let below: PathBuf = components.iter().collect();
        self.guard.is_hidden(&self.guard.workspace().join(below))
    }

    /// Opens a directory. One that its owner may not read is made readable, when that is us.
    fn open(&self, components: &[OsString]) -> Option<OwnedFd> {
        let error = match self.guard.open_below(components) {
            Ok(opened) => return Some(opened),
            Err(error) => error,
        };
        // Nobody else's directory can be written by a program of ours, and one that went is no worry.
        match (error.kind(), components.split_last()) {
            (std::io::ErrorKind::PermissionDenied, Some((name, parents)))
                if !matches!(self.purpose, Purpose::Measure(_)) =>
            {
                self.unlock(parents, name, components)
            }
            _ => None,
        }
    }

    fn unlock(
        &self,
        parents: &[OsString],
        name: &OsStr,
        components: &[OsString],
    ) -> Option<OwnedFd> {
        let parent = self.guard.open_below(parents).ok()?;
        let found = rustix::fs::statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        if found.st_uid != rustix::process::geteuid().as_raw()
            || FileType::from_raw_mode(found.st_mode) != FileType::Directory
        {
            return None;
        }
        let mode = Mode::from_raw_mode(found.st_mode) | Mode::RWXU;
        rustix::fs::chmodat(&parent, name, mode, AtFlags::empty()).ok()?;
        self.guard.open_below(components).ok()
    }
}

/// What a link among the places leads to, when that is in the workspace: it must not be written either.
pub(super) fn linked(guard: &Guard, place: &ExecutableDirectory) -> Option<ExecutableDirectory> {
    place.identity.target.as_ref()?;
    let workspace = guard.workspace();
    let real = workspace.join(place.relative()).canonicalize().ok()?;
    let below = real.strip_prefix(workspace).ok()?;
    let components: Vec<OsString> = below.iter().map(OsStr::to_owned).collect();
    let (_, parents) = components.split_last()?;
    if guard.is_hidden(&real) {
        return None;
    }
    let parent = guard.open_below(parents).ok()?;
    // A git directory is found by what is in it, and only its parts are protected.
    let is_git = real.join(HEAD).symlink_metadata().is_ok();
    (!is_git)
        .then(|| describe(workspace, &parent, &components, Protection::ReadOnly))
        .flatten()
}

/// Looks at an entry; `None` when it went in the meantime.
fn describe(
    workspace: &Path,
    parent: &OwnedFd,
    components: &[OsString],
    protection: Protection,
) -> Option<ExecutableDirectory> {
    let (name, _) = components.split_last()?;
    let found: Stat = rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    let kind = FileType::from_raw_mode(found.st_mode);
    let protection = match kind {
        FileType::Directory => protection,
        // A `.git` that is a file leads elsewhere and must not be changed either.
        FileType::RegularFile => Protection::ReadOnly,
        _ => Protection::Watched,
    };
    let relative: PathBuf = components.iter().collect();
    let target = (kind == FileType::Symlink).then(|| {
        let leads = rustix::fs::readlinkat(parent, name, Vec::new());
        let there = std::fs::metadata(workspace.join(&relative));
        (
            leads.map(std::ffi::CString::into_bytes).unwrap_or_default(),
            there.ok().map(|there| (there.dev(), there.ino())),
        )
    });
    let (device, inode) = file_number(&found);
    Some(ExecutableDirectory {
        identity: Identity {
            name: if target.is_some() {
                relative
            } else {
                PathBuf::from(name)
            },
            device,
            inode,
            kind: wide(kind.as_raw_mode()),
            target,
        },
        components: components.to_vec(),
        protection,
    })
}

fn has_set_id(found: &Stat) -> bool {
    FileType::from_raw_mode(found.st_mode) == FileType::RegularFile
        && Mode::from_raw_mode(found.st_mode).intersects(Mode::SUID | Mode::SGID)
}

/// Device and inode: what tells a file from another.
fn file_number(found: &Stat) -> (u64, u64) {
    // A device has another type on other systems.
    fn number(device: impl TryInto<u64>) -> u64 {
        device.try_into().unwrap_or_default()
    }
    (number(found.st_dev), found.st_ino)
}

/// A mode has 16 bits on some systems.
fn wide(mode: impl Into<u32>) -> u32 {
    mode.into()
}

/// Whether there was something to clear.
#[cfg(target_os = "linux")]
fn clear_set_id(parent: &OwnedFd, name: &OsStr) -> std::io::Result<bool> {
    use std::os::fd::AsRawFd as _;
    use std::os::unix::fs::PermissionsExt as _;
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::openat(parent, name, flags, Mode::empty())?;
    let now = rustix::fs::fstat(&file)?;
    if !has_set_id(&now) {
        return Ok(false);
    }
    // The descriptor is the file that was looked at, whatever has its name by now.
    let place = format!("/proc/self/fd/{}", file.as_raw_fd());
    let mode = std::fs::Permissions::from_mode(now.st_mode & 0o1777);
    std::fs::set_permissions(place, mode)?;
    Ok(true)
}

/// Whether there was something to clear.
#[cfg(not(target_os = "linux"))]
fn clear_set_id(parent: &OwnedFd, name: &OsStr) -> std::io::Result<bool> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::openat(parent, name, flags, Mode::empty())?;
    let now = rustix::fs::fstat(&file)?;
    if !has_set_id(&now) {
        return Ok(false);
    }
    let mode = Mode::from_raw_mode(now.st_mode) - Mode::SUID - Mode::SGID;
    rustix::fs::fchmod(&file, mode)?;
    Ok(true)
}
