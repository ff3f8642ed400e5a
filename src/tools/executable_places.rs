//! Places in a workspace from which other people's programs run code: git, editors, agents and shells.
//!
//! One list serves the path guard, which refuses to write there, and the sandbox, which makes what exists
//! read-only. What a program puts where nothing was is set aside when it ends: it gets another name,
//! under which nobody runs it.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, Dir, FileType, Mode, RenameFlags, Stat};
use rustix::io::Errno;

use crate::tools::guard::Guard;

/// Files and directories, at any depth, that are read by a program as soon as it works beside them.
const NAMES: [&str; 30] = [
    // Shells and version managers, on `cd`.
    ".envrc",
    ".direnv",
    ".autoenv",
    ".autoenv.zsh",
    ".mise.toml",
    "mise.toml",
    // Editors, when the directory is opened.
    ".vscode",
    ".idea",
    ".zed",
    ".fleet",
    ".devcontainer",
    ".devcontainer.json",
    ".exrc",
    ".vimrc",
    ".nvimrc",
    ".nvim.lua",
    ".lvimrc",
    ".dir-locals.el",
    ".dir-locals-2.el",
    // Agents, when they are started there.
    ".claude",
    ".cursor",
    ".codex",
    ".gemini",
    ".windsurf",
    ".aider.conf.yml",
    ".mcp.json",
    // Hooks of version control outside of `.git`.
    ".husky",
    ".lefthook",
    ".hg",
    ".jj",
];
/// Endings of files that editors open as projects.
const ENDINGS: [&str; 2] = [".code-workspace", ".sublime-project"];
/// The directory, or the file that points to one, in which git looks first.
const GIT: &str = ".git";
/// What in a git directory makes git run programs, or leads it to another directory.
const GIT_PARTS: [&str; 4] = ["hooks", "config", "config.worktree", "commondir"];
/// Directories of a git directory that hold further git directories, at any depth.
const GIT_NESTED: [&str; 2] = ["modules", "worktrees"];
/// By git's own rule a directory with these is a git directory, whatever its name is.
const HEAD: &str = "HEAD";
const BARE: [&str; 2] = ["objects", "refs"];
/// With this file beside `HEAD` the other two are looked for elsewhere.
const COMMON: &str = "commondir";

/// Most entries looked at before a run, and after it.
const MOST_BEFORE: usize = 1_000_000;
const MOST_AFTER: usize = 8_000_000;
/// Longest look before a run, and after it.
const LONGEST_BEFORE: Duration = Duration::from_secs(10);
const LONGEST_AFTER: Duration = Duration::from_secs(120);
/// Deepest directory looked at.
const DEEPEST: usize = 128;
/// Most places of one workspace, and most bytes of their paths: each is a mount of its own.
const MOST_PLACES: usize = 500;
const MOST_PLACE_BYTES: usize = 64 * 1024;
/// Longest name of a file.
const LONGEST_NAME: usize = 255;
/// Tries to find a name that is free.
const TRIES: usize = 32;

fn is(name: &OsStr, word: &str) -> bool {
    name.eq_ignore_ascii_case(word)
}

fn is_any(name: &OsStr, words: &[&str]) -> bool {
    words.iter().any(|word| is(name, word))
}

fn ends_as_project(name: &OsStr) -> bool {
    let name = name.as_bytes();
    ENDINGS.iter().any(|ending| {
        name.len() >= ending.len()
            && name[name.len() - ending.len()..].eq_ignore_ascii_case(ending.as_bytes())
    })
}

/// Whether something of that name is read wherever it stands; `.git` is not meant.
fn is_setting(name: &OsStr) -> bool {
    is_any(name, &NAMES) || ends_as_project(name)
}

/// Whether a path below a git directory is one of the parts that make git run programs, or lies in one.
fn is_git_part(below: &[OsString]) -> bool {
    let starts_with_part = |names: &[OsString]| match names {
        [first, ..] if is_any(first, &GIT_PARTS) => true,
        [first, second, ..] => is(first, "info") && is(second, "attributes"),
        _ => false,
    };
    match below {
        [first, nested @ ..] if is_any(first, &GIT_NESTED) => {
            (0..nested.len()).any(|from| starts_with_part(&nested[from..]))
        }
        names => starts_with_part(names),
    }
}

/// What follows the last `.git` of a path; `None` without one.
fn below_git(components: &[OsString]) -> Option<&[OsString]> {
    let git = components.iter().rposition(|name| is(name, GIT))?;
    Some(&components[git + 1..])
}

/// Whether what stands at a path makes somebody's program run code, as far as its name tells. The path is
/// relative to the workspace.
pub fn runs_programs(components: &[OsString]) -> bool {
    components.iter().any(|name| is_setting(name))
        || below_git(components).is_some_and(|below| below.is_empty() || is_git_part(below))
}

/// Whether a directory with these names is a git directory.
fn is_repository(has: impl Fn(&str) -> bool) -> bool {
    has(HEAD) && (BARE.iter().all(|name| has(name)) || has(COMMON))
}

/// Whether a file written there would be a part of a git directory that has another name than `.git`, or
/// would make one of its directory.
pub fn belongs_to_repository(workspace: &Path, components: &[OsString]) -> bool {
    let mut directory = workspace.to_path_buf();
    for (depth, name) in components.iter().enumerate() {
        let exists = |word: &str| directory.join(word).symlink_metadata().is_ok();
        if is_repository(exists) {
            if is_git_part(&components[depth..]) {
                return true;
            }
        } else if is_repository(|word| is(name, word) || exists(word)) {
            return true;
        }
        directory.push(name);
    }
    false
}

/// Where a link leads, and device and inode of what is there.
type Target = (Vec<u8>, Option<(u64, u64)>);

/// What something is, so that it is known again.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Identity {
    /// Its name; the whole path of a link, as it leads elsewhere from another place.
    name: PathBuf,
    device: u64,
    inode: u64,
    kind: u32,
    /// Of a link.
    target: Option<Target>,
}

/// How the sandbox treats a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protection {
    /// It cannot be moved away; what is in it can be written.
    Pinned,
    /// Nothing in it can be written.
    ReadOnly,
    /// A link or a special file: nothing can be mounted there. Another one in its place is set aside.
    Watched,
}

/// Something that exists and makes programs run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutablePlace {
    components: Vec<OsString>,
    identity: Identity,
    /// How it is protected.
    pub protection: Protection,
}

impl ExecutablePlace {
    /// Its path below the workspace.
    pub fn relative(&self) -> PathBuf {
        self.components.iter().collect()
    }

    /// Device and inode, as `stat -c %d:%i` says them.
    pub fn number(&self) -> String {
        format!("{}:{}", self.identity.device, self.identity.inode)
    }
}

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

/// The places of a workspace at one moment.
#[derive(Debug, Clone, Default)]
pub struct ExecutablePlaces {
    list: Vec<ExecutablePlace>,
    known: HashSet<Identity>,
    /// Device and inode of every git directory, whatever its name is.
    repositories: HashSet<(u64, u64)>,
}

/// What a run left behind in places that make programs run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Leftovers {
    /// Path below the workspace, and the new name that it got.
    pub set_aside: Vec<(PathBuf, String)>,
    /// What is still in its place, and why.
    pub in_place: Vec<(PathBuf, String)>,
    /// Why not everything was looked at.
    pub incomplete: Option<ScanError>,
}

impl Leftovers {
    /// Whether there is nothing to tell.
    pub fn is_empty(&self) -> bool {
        self.set_aside.is_empty() && self.in_place.is_empty() && self.incomplete.is_none()
    }
}

impl ExecutablePlaces {
    /// Looks through a workspace. Blocks.
    pub fn scan(guard: &Guard) -> Result<Self, ScanError> {
        let mut scan = Scan::new(guard, None, MOST_BEFORE, LONGEST_BEFORE);
        scan.run()?;
        let mut list = scan.places;
        let targets: Vec<ExecutablePlace> = list
            .iter()
            .filter_map(|place| linked(guard, place))
            .collect();
        list.extend(targets);
        list.sort_by(|a, b| a.components.cmp(&b.components));
        list.dedup_by(|a, b| a.components == b.components);
        let bytes: usize = list
            .iter()
            .map(|place| place.relative().as_os_str().len())
            .sum();
        if list.len() > MOST_PLACES || bytes > MOST_PLACE_BYTES {
            return Err(ScanError::Places);
        }
        Ok(Self {
            known: list.iter().map(|place| place.identity.clone()).collect(),
            list,
            repositories: scan.repositories,
        })
    }

    /// What there is, parents before what they hold.
    pub fn list(&self) -> &[ExecutablePlace] {
        &self.list
    }

    /// Looks again after a run and gives what is new another name, which ends with `tag`. Blocks.
    pub fn set_aside_new(&self, guard: &Guard, tag: &str) -> Leftovers {
        let mut scan = Scan::new(guard, Some(self), MOST_AFTER, LONGEST_AFTER);
        let mut leftovers = Leftovers {
            incomplete: scan.run().err(),
            ..Leftovers::default()
        };
        let mut new = scan.places;
        // What is deepest first: its path holds until it is renamed itself.
        new.sort_by(|a, b| b.components.cmp(&a.components));
        for place in new {
            match set_aside(guard, &place.components, tag) {
                Ok(name) => leftovers.set_aside.push((place.relative(), name)),
                // It went by itself.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => leftovers
                    .in_place
                    .push((place.relative(), error.to_string())),
            }
        }
        leftovers.set_aside.reverse();
        leftovers
    }
}

/// Renames one place where it stands, so that no border between file systems is in the way.
fn set_aside(guard: &Guard, components: &[OsString], tag: &str) -> std::io::Result<String> {
    let Some((name, parents)) = components.split_last() else {
        return Err(Errno::INVAL.into());
    };
    let parent = guard.open_below(parents)?;
    let mut permitted = false;
    for attempt in 0..TRIES {
        let mut new = format!("{}.set-aside-{tag}", name.to_string_lossy());
        if new.len() + 4 > LONGEST_NAME {
            new = format!("set-aside-{tag}");
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
}

/// One look through a workspace, directory by directory. No link is followed.
struct Scan<'a> {
    guard: &'a Guard,
    before: Option<&'a ExecutablePlaces>,
    most: usize,
    longest: Duration,
    began: Instant,
    seen: usize,
    places: Vec<ExecutablePlace>,
    repositories: HashSet<(u64, u64)>,
    todo: Vec<Directory>,
    /// The first reason why something was left out.
    left_out: Option<ScanError>,
}

impl<'a> Scan<'a> {
    fn new(
        guard: &'a Guard,
        before: Option<&'a ExecutablePlaces>,
        most: usize,
        longest: Duration,
    ) -> Self {
        Self {
            guard,
            before,
            most,
            longest,
            began: Instant::now(),
            seen: 0,
            places: Vec::new(),
            repositories: HashSet::new(),
            todo: vec![Directory {
                components: Vec::new(),
                in_new: false,
                is_info: false,
            }],
            left_out: None,
        }
    }

    /// On an error the places found so far are there nevertheless.
    fn run(&mut self) -> Result<(), ScanError> {
        while let Some(directory) = self.todo.pop() {
            self.directory(&directory)?;
        }
        self.left_out.take().map_or(Ok(()), Err)
    }

    fn directory(&mut self, directory: &Directory) -> Result<(), ScanError> {
        let path = || directory.components.iter().collect::<PathBuf>();
        let Some(opened) = self.open(&directory.components) else {
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
        let is_repository = is_repository(has);
        let mut is_new = false;
        if is_repository {
            let number = rustix::fs::fstat(&opened).map_err(unreadable)?;
            let number = (number.st_dev, number.st_ino);
            is_new = self
                .before
                .is_some_and(|before| !before.repositories.contains(&number));
            self.repositories.insert(number);
        }
        for (name, kind) in entries {
            let mut components = directory.components.clone();
            components.push(name.clone());
            let by_path = || {
                below_git(&components).is_some_and(|below| {
                    is_git_part(below) && !is_git_part(&below[..below.len().saturating_sub(1)])
                })
            };
            let found = if is(&name, GIT) {
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
            if let Some(protection) = found
                && let Some(place) =
                    describe(self.guard.workspace(), &opened, &components, protection)
            {
                let is_known = self
                    .before
                    .is_none_or(|before| before.known.contains(&place.identity));
                // What is read-only as a whole holds nothing new.
                enters = !(is_known && place.protection == Protection::ReadOnly);
                in_new |= !is_known;
                if self.before.is_none() || !is_known {
                    self.places.push(place);
                }
            }
            let is_directory = match kind {
                FileType::Directory => true,
                FileType::Unknown => rustix::fs::statat(&opened, &name, AtFlags::SYMLINK_NOFOLLOW)
                    .is_ok_and(|found| {
                        FileType::from_raw_mode(found.st_mode) == FileType::Directory
                    }),
                _ => false,
            };
            if !is_directory || !enters || self.is_hidden(&components) {
                continue;
            }
            if components.len() > DEEPEST {
                self.left_out
                    .get_or_insert(ScanError::Depth(components.iter().collect()));
                continue;
            }
            let is_info = is_repository && !is_new && is(&name, "info");
            self.todo.push(Directory {
                components,
                in_new,
                is_info,
            });
        }
        Ok(())
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
            (std::io::ErrorKind::PermissionDenied, Some((name, parents))) => {
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
fn linked(guard: &Guard, place: &ExecutablePlace) -> Option<ExecutablePlace> {
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
) -> Option<ExecutablePlace> {
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
    Some(ExecutablePlace {
        identity: Identity {
            name: if target.is_some() {
                relative
            } else {
                PathBuf::from(name)
            },
            device: found.st_dev,
            inode: found.st_ino,
            kind: kind.as_raw_mode(),
            target,
        },
        components: components.to_vec(),
        protection,
    })
}
