//! Places in a workspace from which other people's programs run code: git, editors, agents and shells.
//!
//! One list serves the path guard, which refuses to write there, and the sandbox, which makes what exists
//! read-only. What a program puts where nothing was is set aside when it ends: it gets another name,
//! under which nobody runs it.

use std::collections::{BTreeSet, HashSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;

use crate::protocol::leftovers::{LeftInPlace, MOST_NAMED, NewPlaces, SetAside};
use crate::tools::canonical::hex;
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

impl Identity {
    /// The same in every process, also after the machine was started again: a device has another number then.
    fn digest(&self) -> String {
        let mut hash = Sha256::new();
        let mut add = |bytes: &[u8]| {
            hash.update((bytes.len() as u64).to_be_bytes());
            hash.update(bytes);
        };
        add(self.name.as_os_str().as_bytes());
        add(&self.inode.to_be_bytes());
        add(&self.kind.to_be_bytes());
        if let Some((leads, there)) = &self.target {
            add(leads);
            add(&there.map_or([0; 8], |(_, inode)| inode.to_be_bytes()));
        }
        hex(&hash.finalize())
    }
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

/// What is known of the places of a workspace.
#[derive(Debug, Clone)]
enum Known {
    /// By this process.
    Here {
        places: HashSet<Identity>,
        /// Device and inode of every git directory, whatever its name is.
        repositories: HashSet<(u64, u64)>,
    },
    /// By one before it.
    Stored(PlacesBefore),
}

/// The places of a workspace in a form that outlives the process. Each is a digest: no name of a file stands there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlacesBefore {
    /// Inode of the workspace itself.
    root: u64,
    places: BTreeSet<String>,
    /// Inodes of git directories.
    repositories: BTreeSet<u64>,
}

/// The places of a workspace at one moment.
#[derive(Debug, Clone)]
pub struct ExecutablePlaces {
    list: Vec<ExecutablePlace>,
    known: Known,
    /// Bytes that the files of the workspace take on the disk.
    pub bytes: u64,
    /// How long it took to look.
    pub took: Duration,
}

/// What a run left behind in a workspace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Leftovers {
    /// In places that make programs run.
    pub new: NewPlaces,
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
        let most = list.len().max(scan.repositories.len());
        if most > MOST_PLACES || bytes > MOST_PLACE_BYTES {
            return Err(ScanError::Places);
        }
        Ok(Self {
            known: Known::Here {
                places: list.iter().map(|place| place.identity.clone()).collect(),
                repositories: scan.repositories,
            },
            list,
            bytes: scan.bytes,
            took: began.elapsed(),
        })
    }

    /// What there is, parents before what they hold.
    pub fn list(&self) -> &[ExecutablePlace] {
        &self.list
    }

    /// In a form that outlives the process.
    pub fn to_store(&self, guard: &Guard) -> std::io::Result<PlacesBefore> {
        match &self.known {
            Known::Here {
                places,
                repositories,
            } => Ok(PlacesBefore {
                root: std::fs::metadata(guard.workspace())?.ino(),
                places: places.iter().map(Identity::digest).collect(),
                repositories: repositories.iter().map(|(_, inode)| *inode).collect(),
            }),
            Known::Stored(before) => Ok(before.clone()),
        }
    }

    /// What a process before this one stored. The error says why nothing can be told from it.
    pub fn restored(before: &PlacesBefore, guard: &Guard) -> Result<Self, String> {
        let root = std::fs::metadata(guard.workspace())
            .map_err(|error| format!("the workspace cannot be looked at: {error}"))?;
        if root.ino() != before.root {
            return Err("another directory is in the place of the workspace".to_owned());
        }
        Ok(Self {
            list: Vec::new(),
            known: Known::Stored(before.clone()),
            bytes: 0,
            took: Duration::ZERO,
        })
    }

    pub(super) fn knows(&self, identity: &Identity) -> bool {
        match &self.known {
            Known::Here { places, .. } => places.contains(identity),
            Known::Stored(before) => before.places.contains(&identity.digest()),
        }
    }

    pub(super) fn knows_repository(&self, device: u64, inode: u64) -> bool {
        match &self.known {
            Known::Here { repositories, .. } => repositories.contains(&(device, inode)),
            Known::Stored(before) => before.repositories.contains(&inode),
        }
    }

    /// Looks again after a run and gives what is new another name, which ends with `tag`. In the same walk, files lose
    /// their set-user-ID and set-group-ID bits: with them, what a program made would run for other users with the
    /// rights of the engine's. Blocks.
    ///
    /// With what was stored by another process, names that it gave already are told too: it may have died between a
    /// new name and the word about it.
    pub fn set_aside_new(&self, guard: &Guard, tag: &str) -> Leftovers {
        let mut scan = Scan::new(guard, Purpose::After(self));
        if matches!(self.known, Known::Stored(_)) {
            scan.look_for_names_of(tag);
        }
        let incomplete = scan.run().err();
        let mut new = NewPlaces {
            set_aside: scan.renamed,
            incomplete: incomplete.as_ref().map(ToString::to_string),
            ..NewPlaces::default()
        };
        let mut places = scan.places;
        // What is deepest first: its path holds until it is renamed itself.
        places.sort_by(|a, b| b.components.cmp(&a.components));
        for place in places {
            let path = place.relative().to_string_lossy().into_owned();
            match set_aside(guard, &place.components, tag) {
                Ok(name) => new.set_aside.push(SetAside { path, name }),
                // It went by itself.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => new.in_place.push(LeftInPlace {
                    path,
                    problem: error.to_string(),
                }),
            }
        }
        new.set_aside.reverse();
        let mut cleared = scan.cleared;
        cleared.sort();
        let listed = new.set_aside.len().min(MOST_NAMED);
        new.more = (new.set_aside.len() - listed) as u64;
        new.set_aside.truncate(listed);
        new.in_place.truncate(MOST_NAMED);
        Leftovers {
            new,
            cleared,
            set_id_left: scan.set_id_left || incomplete.is_some(),
        }
    }
}

/// Bytes that the files of a workspace take on the disk, as far as it can be looked at. Changes nothing. Blocks.
pub fn disk_usage(guard: &Guard, cancel: &CancellationToken) -> u64 {
    let mut scan = Scan::new(guard, Purpose::Measure(cancel));
    // What was counted until then is there at the least.
    let _ = scan.run();
    scan.bytes
}
