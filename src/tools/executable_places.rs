//! Places in a workspace from which other people's programs run code: git, editors, agents and shells.
//!
//! One list serves the path guard, which refuses to write there, and the sandbox, which makes what exists
//! read-only. What a program puts where nothing was is set aside when it ends: it gets another name,
//! under which nobody runs it.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use crate::tools::guard::Guard;
use crate::tools::place_scan::{DEEPEST, Purpose, Scan, linked, set_aside};

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
pub(super) const GIT: &str = ".git";
/// What in a git directory makes git run programs, or leads it to another directory.
pub(super) const GIT_PARTS: [&str; 4] = ["hooks", "config", "config.worktree", "commondir"];
/// Directories of a git directory that hold further git directories, at any depth.
const GIT_NESTED: [&str; 2] = ["modules", "worktrees"];
/// By git's own rule a directory with these is a git directory, whatever its name is.
pub(super) const HEAD: &str = "HEAD";
const BARE: [&str; 2] = ["objects", "refs"];
/// With this file beside `HEAD` the other two are looked for elsewhere.
const COMMON: &str = "commondir";

/// Most places of one workspace, and most bytes of their paths: each is a mount of its own.
const MOST_PLACES: usize = 500;
const MOST_PLACE_BYTES: usize = 64 * 1024;

pub(super) fn is(name: &OsStr, word: &str) -> bool {
    name.eq_ignore_ascii_case(word)
}

pub(super) fn is_any(name: &OsStr, words: &[&str]) -> bool {
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
pub(super) fn is_setting(name: &OsStr) -> bool {
    is_any(name, &NAMES) || ends_as_project(name)
}

/// Whether a path below a git directory is one of the parts that make git run programs, or lies in one.
pub(super) fn is_git_part(below: &[OsString]) -> bool {
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
pub(super) fn below_git(components: &[OsString]) -> Option<&[OsString]> {
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
pub(super) fn is_repository(has: impl Fn(&str) -> bool) -> bool {
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
pub(super) struct Identity {
    /// Its name; the whole path of a link, as it leads elsewhere from another place.
    pub(super) name: PathBuf,
    pub(super) device: u64,
    pub(super) inode: u64,
    pub(super) kind: u32,
    /// Of a link.
    pub(super) target: Option<Target>,
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
    pub(super) components: Vec<OsString>,
    pub(super) identity: Identity,
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
    /// Bytes that the files of the workspace take on the disk.
    pub bytes: u64,
    /// How long it took to look.
    pub took: Duration,
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
    /// Files that lost a set-user-ID or set-group-ID bit.
    pub cleared: Vec<PathBuf>,
    /// Whether a file could not be looked at for these bits, or kept one.
    pub set_id_left: bool,
}

impl ExecutablePlaces {
    /// Looks through a workspace. Blocks.
    pub fn scan(guard: &Guard) -> Result<Self, ScanError> {
        let began = Instant::now();
        let mut scan = Scan::new(guard, Purpose::Before);
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
            bytes: scan.bytes,
            took: began.elapsed(),
        })
    }

    /// What there is, parents before what they hold.
    pub fn list(&self) -> &[ExecutablePlace] {
        &self.list
    }

    pub(super) fn knows(&self, identity: &Identity) -> bool {
        self.known.contains(identity)
    }

    pub(super) fn knows_repository(&self, device: u64, inode: u64) -> bool {
        self.repositories.contains(&(device, inode))
    }

    /// Looks again after a run and gives what is new another name, which ends with `tag`. In the same walk, files lose
    /// their set-user-ID and set-group-ID bits: with them, what a program made would run for other users with the
    /// rights of the engine's. Blocks.
    pub fn set_aside_new(&self, guard: &Guard, tag: &str) -> Leftovers {
        let mut scan = Scan::new(guard, Purpose::After(self));
        let incomplete = scan.run().err();
        let mut leftovers = Leftovers {
            set_id_left: scan.set_id_left || incomplete.is_some(),
            incomplete,
            cleared: scan.cleared,
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

/// Bytes that the files of a workspace take on the disk, as far as it can be looked at. Changes nothing. Blocks.
pub fn disk_usage(guard: &Guard, cancel: &CancellationToken) -> u64 {
    let mut scan = Scan::new(guard, Purpose::Measure(cancel));
    // What was counted until then is there at the least.
    let _ = scan.run();
    scan.bytes
}
