//! Bounds that no resource limit gives: what a whole tree of processes takes, and what it leaves in the workspace.
//!
//! The kernel counts memory for each process, does not count tasks for root, and does not count files at all. A
//! thread looks at the run several times a second and cancels it when it takes too much.

use std::collections::{HashMap, HashSet};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::tools::guard::Guard;
use crate::tools::walk::{End, Entry, EntryKind, Limits, Step, walk};

/// Most bytes by which a run makes the workspace grow, and most bytes of one file.
pub const MAX_DISK: u64 = 1 << 30;
/// Most bytes of memory of its own that all processes of a run have together.
pub const MAX_MEMORY: u64 = 1 << 30;
/// Most processes and threads of a run.
pub const MAX_TASKS: usize = 64;
/// Processes of the sandbox and of the supervisor above it, beside those.
const OWN_TASKS: usize = 4;
/// Time between two looks.
const LOOK: Duration = Duration::from_millis(50);
/// The workspace is measured for at most this share of the time: one part in so many.
const SHARE: u32 = 10;
/// Bounds of a walk of the workspace.
const DEPTH: usize = 128;
const ENTRIES: usize = 1_000_000;
const WALK: Duration = Duration::from_secs(30);
/// Unit of the kernel's count of blocks.
const BLOCK: u64 = 512;

/// What a run took too much of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Excess {
    /// Bytes in the workspace.
    Disk(u64),
    /// Bytes of memory.
    Memory(u64),
    /// Processes and threads.
    Tasks(usize),
}

impl std::fmt::Display for Excess {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mib = |bytes: u64| bytes >> 20;
        match self {
            Self::Disk(bytes) => write!(
                formatter,
                "it wrote {} MiB into the workspace, of {} MiB for one run",
                mib(*bytes),
                mib(MAX_DISK)
            ),
            Self::Memory(bytes) => write!(
                formatter,
                "it took {} MiB of memory, of {} MiB",
                mib(*bytes),
                mib(MAX_MEMORY)
            ),
            Self::Tasks(count) => write!(
                formatter,
                "it had {count} processes and threads, of {MAX_TASKS}"
            ),
        }
    }
}

/// A run that is looked at until [`Watch::end`].
pub struct Watch {
    started: Arc<OnceLock<u32>>,
    stop: DropGuard,
    looking: tokio::task::JoinHandle<Option<Excess>>,
}

impl Watch {
    /// Measures the workspace and begins to look; `cancel` is how the run is ended.
    pub async fn begin(guard: Guard, cancel: CancellationToken) -> Self {
        let started = Arc::new(OnceLock::new());
        let stop = CancellationToken::new();
        let (pid, stopped) = (Arc::clone(&started), stop.clone());
        let of = guard.clone();
        let measure = move || {
            let began = Instant::now();
            (taken(&of, &CancellationToken::new()), began.elapsed())
        };
        let (before, took) = tokio::task::spawn_blocking(measure)
            .await
            .unwrap_or_default();
        let looking = tokio::task::spawn_blocking(move || {
            let excess = look(&guard, (before, took), &pid, &stopped);
            if excess.is_some() {
                cancel.cancel();
            }
            excess
        });
        Self {
            started,
            stop: stop.drop_guard(),
            looking,
        }
    }

    /// Where the run puts its process id.
    pub fn process(&self) -> &OnceLock<u32> {
        &self.started
    }

    /// Ends the looking; says what the run was ended for.
    pub async fn end(self) -> Option<Excess> {
        drop(self.stop);
        self.looking.await.ok().flatten()
    }
}

fn look(
    guard: &Guard,
    (before, took): (u64, Duration),
    process: &OnceLock<u32>,
    stop: &CancellationToken,
) -> Option<Excess> {
    let mut next_walk = Instant::now() + took * SHARE;
    while !stop.is_cancelled() {
        if let Some(excess) = process.get().and_then(|process| tree(*process)) {
            return Some(excess);
        }
        let now = Instant::now();
        if now >= next_walk {
            let grown = taken(guard, stop).saturating_sub(before);
            if grown > MAX_DISK {
                return Some(Excess::Disk(grown));
            }
            next_walk = Instant::now() + now.elapsed() * SHARE;
        }
        std::thread::sleep(LOOK);
    }
    None
}

/// What all descendants of a process take, when that is too much.
fn tree(root: u32) -> Option<Excess> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for entry in std::fs::read_dir("/proc").ok()?.flatten() {
        let Some(process) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        // The name, in brackets, may hold anything; the parent is the second field after it.
        let parent = stat
            .rsplit_once(") ")
            .and_then(|(_, fields)| fields.split(' ').nth(1)?.parse().ok());
        if let Some(parent) = parent {
            children.entry(parent).or_default().push(process);
        }
    }
    let (mut tasks, mut memory) = (0, 0);
    let mut open = vec![root];
    while let Some(process) = open.pop() {
        open.extend(children.remove(&process).unwrap_or_default());
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse::<u64>().ok()
        };
        tasks += field("Threads:").unwrap_or(1) as usize;
        memory += field("RssAnon:").unwrap_or(0) * 1024;
    }
    if tasks > MAX_TASKS + OWN_TASKS {
        Some(Excess::Tasks(tasks - OWN_TASKS))
    } else if memory > MAX_MEMORY {
        Some(Excess::Memory(memory))
    } else {
        None
    }
}

fn limits(cancel: &CancellationToken) -> Limits {
    Limits {
        depth: DEPTH,
        entries: ENTRIES,
        time: WALK,
        cancel: cancel.clone(),
    }
}

fn each(
    guard: &Guard,
    cancel: &CancellationToken,
    visit: &mut dyn FnMut(&Entry<'_>) -> Step,
) -> Option<End> {
    let root = guard.directory(".").ok()?;
    walk(guard, &root, &limits(cancel), visit).ok()
}

/// Bytes that the files of the workspace take on the disk.
fn taken(guard: &Guard, cancel: &CancellationToken) -> u64 {
    let mut bytes = 0;
    let mut counted = HashSet::new();
    each(guard, cancel, &mut |entry| {
        if let Ok(found) = rustix::fs::statat(entry.parent, entry.name, AtFlags::SYMLINK_NOFOLLOW) {
            // A file of several names is counted once.
            if found.st_nlink <= 1 || counted.insert(found.st_ino) {
                bytes += u64::try_from(found.st_blocks).unwrap_or(0) * BLOCK;
            }
        }
        Step::Next
    });
    bytes
}

/// The files of the workspace that lost a set-user-ID or set-group-ID bit.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Cleared {
    /// Their paths below the workspace.
    pub files: Vec<PathBuf>,
    /// Whether the whole workspace was looked at, and every such bit is gone.
    pub whole: bool,
}

/// Takes set-user-ID and set-group-ID bits from the files of the workspace: with them a file that a program
/// made would run for other users with the rights of the engine's.
pub fn clear_set_id(guard: &Guard) -> Cleared {
    let mut cleared = Cleared {
        files: Vec::new(),
        whole: true,
    };
    let ended = each(guard, &CancellationToken::new(), &mut |entry| {
        if entry.kind == EntryKind::File {
            match clear(entry) {
                Ok(true) => cleared.files.push(entry.below.to_owned()),
                Ok(false) => {}
                Err(_) => cleared.whole = false,
            }
        }
        Step::Next
    });
    cleared.whole &= ended == Some(End::Complete);
    cleared
}

/// Whether there was something to clear.
fn clear(entry: &Entry<'_>) -> std::io::Result<bool> {
    let found = rustix::fs::statat(entry.parent, entry.name, AtFlags::SYMLINK_NOFOLLOW)?;
    let bits = Mode::SUID | Mode::SGID;
    if !Mode::from_raw_mode(found.st_mode).intersects(bits) {
        return Ok(false);
    }
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file: OwnedFd = rustix::fs::openat(entry.parent, entry.name, flags, Mode::empty())?;
    let now = rustix::fs::fstat(&file)?;
    if FileType::from_raw_mode(now.st_mode) != FileType::RegularFile {
        return Ok(false);
    }
    let mode = now.st_mode & 0o1777;
    // The descriptor is the file that was looked at, whatever has its name by now.
    let place = format!("/proc/self/fd/{}", file.as_raw_fd());
    std::fs::set_permissions(place, std::fs::Permissions::from_mode(mode))?;
    Ok(true)
}
