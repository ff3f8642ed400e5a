//! Bounds that no resource limit gives: what a whole tree of processes takes, and by how much the workspace grows.
//!
//! The kernel counts memory for each process, does not count tasks for root, and does not count files at all. A
//! thread looks at the run several times a second and cancels it when it takes too much.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use tokio_util::sync::{CancellationToken, DropGuard};

use crate::tools::executable_places::disk_usage;
use crate::tools::guard::Guard;

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
/// Shortest time between two measurements.
const MEASURE: Duration = Duration::from_millis(200);

/// What a run took too much of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Excess {
    /// Bytes in the workspace, of so many.
    Disk(u64, u64),
    /// Bytes of memory.
    Memory(u64),
    /// Processes and threads.
    Tasks(usize),
}

impl std::fmt::Display for Excess {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mib = |bytes: u64| bytes >> 20;
        match self {
            Self::Disk(bytes, most) => write!(
                formatter,
                "it wrote {} MiB into the workspace, of {} MiB for one run",
                mib(*bytes),
                mib(*most)
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

/// By how much a workspace may grow.
#[derive(Debug, Clone, Copy)]
pub struct Growth {
    /// Bytes that it took before the run.
    pub before: u64,
    /// How long it took to measure that.
    pub took: Duration,
    /// Most bytes that may be added.
    pub most: u64,
}

/// A run that is looked at until [`Watch::end`].
pub struct Watch {
    started: Arc<OnceLock<u32>>,
    stop: DropGuard,
    looking: tokio::task::JoinHandle<Option<Excess>>,
}

impl Watch {
    /// Begins to look; `cancel` is how the run is ended.
    pub fn begin(guard: Guard, growth: Growth, cancel: CancellationToken) -> Self {
        let started = Arc::new(OnceLock::new());
        let stop = CancellationToken::new();
        let (pid, stopped) = (Arc::clone(&started), stop.clone());
        let looking = tokio::task::spawn_blocking(move || {
            let excess = look(&guard, growth, &pid, &stopped);
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
    growth: Growth,
    process: &OnceLock<u32>,
    stop: &CancellationToken,
) -> Option<Excess> {
    let mut next_walk = Instant::now() + MEASURE.max(growth.took * SHARE);
    while !stop.is_cancelled() {
        if let Some(excess) = process.get().and_then(|process| tree(*process)) {
            return Some(excess);
        }
        let now = Instant::now();
        if now >= next_walk {
            let grown = disk_usage(guard, stop).saturating_sub(growth.before);
            if grown > growth.most {
                return Some(Excess::Disk(grown, growth.most));
            }
            next_walk = Instant::now() + MEASURE.max(now.elapsed() * SHARE);
        }
        std::thread::sleep(LOOK);
    }
    None
}

/// What a process and all its descendants take, when that is too much.
fn tree(root: u32) -> Option<Excess> {
    let (mut tasks, mut memory) = (0, 0);
    for process in family(root) {
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse::<u64>().ok()
        };
        tasks += field("Threads:").unwrap_or(1) as usize;
        memory += field("RssAnon:").unwrap_or(0) * 1024;
        if tasks > MAX_TASKS + OWN_TASKS {
            return Some(Excess::Tasks(tasks - OWN_TASKS));
        }
    }
    (memory > MAX_MEMORY).then_some(Excess::Memory(memory))
}

/// How many processes there are of a process and its descendants, without those that have ended and wait for their
/// parent.
pub fn processes(root: u32) -> usize {
    let lives = |process: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        // The name, in brackets, may hold anything; the state is the first field after it.
        stat.rsplit_once(") ")
            .is_some_and(|(_, fields)| !fields.starts_with(['Z', 'X']))
    };
    family(root).filter(lives).count()
}

/// A process and all its descendants, each once.
fn family(root: u32) -> impl Iterator<Item = u32> {
    let mut every = None;
    let mut seen = HashSet::new();
    let mut open = vec![root];
    std::iter::from_fn(move || {
        let process = loop {
            let process = open.pop()?;
            // One can be met twice when it gets another parent during the look.
            if seen.insert(process) {
                break process;
            }
        };
        let place = format!("/proc/{process}");
        open.extend(match children(Path::new(&place)) {
            Some(children) => children,
            // The kernel was built without these lists.
            None => every
                .get_or_insert_with(by_parent)
                .remove(&process)
                .unwrap_or_default(),
        });
        Some(process)
    })
}

/// The children of a process: those of each of its threads. `None` where the kernel does not list them.
fn children(process: &Path) -> Option<Vec<u32>> {
    let mut found = Vec::new();
    // One that has just ended has none.
    let Ok(threads) = std::fs::read_dir(process.join("task")) else {
        return Some(found);
    };
    for thread in threads.flatten() {
        match std::fs::read_to_string(thread.path().join("children")) {
            Ok(list) => found.extend(
                list.split_whitespace()
                    .filter_map(|word| word.parse::<u32>().ok()),
            ),
            Err(_) if thread.path().exists() => return None,
            Err(_) => {}
        }
    }
    Some(found)
}

/// The children of every process of the machine.
fn by_parent() -> HashMap<u32, Vec<u32>> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return children;
    };
    for entry in entries.flatten() {
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
    children
}
