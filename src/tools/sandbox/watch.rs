//! Bounds that no resource limit gives: what a whole tree of processes takes, and by how much the workspace grows.
//!
//! The kernel counts memory for each process, does not count tasks for root, and does not count files at all. A
//! thread looks at the run several times a second and cancels it when it takes too much.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use tokio_util::sync::{CancellationToken, DropGuard};

use crate::tools::executable_places::disk_usage;
use crate::tools::guard::Guard;
use crate::tools::place_scan::ScanError;
use crate::tools::sandbox::tree;

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
    /// More files or deeper directories than can be measured; before the run they could.
    Unmeasurable(ScanError),
    /// Bytes of memory.
    Memory(u64),
    /// Processes and threads.
    Tasks(usize),
    /// Processes beside those of the interpreter itself, of so many.
    Processes(usize, usize),
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
            Self::Unmeasurable(problem) => write!(
                formatter,
                "it made the workspace too large to be measured: {problem}"
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
            Self::Processes(count, most) => {
                write!(
                    formatter,
                    "it had {count} processes beside its own, of {most}"
                )
            }
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

/// How many processes a run may have.
#[derive(Debug, Clone, Copy)]
pub struct MostProcesses {
    /// Those that it has before it starts any.
    pub own: usize,
    /// Those that it may have beside them.
    pub more: usize,
}

/// A run that is looked at until [`Watch::end`].
pub struct Watch {
    started: Arc<OnceLock<u32>>,
    stop: DropGuard,
    ended: Sender<()>,
    looking: tokio::task::JoinHandle<Option<Excess>>,
}

impl Watch {
    /// Begins to look; `cancel` is how the run is ended. What the run writes in each place of `guards` counts.
    pub fn begin(guards: Vec<Guard>, growth: Growth, cancel: CancellationToken) -> Self {
        Self::counting(guards, growth, None, cancel)
    }

    /// The same of a run whose processes are counted without their threads.
    pub fn counting(
        guards: Vec<Guard>,
        growth: Growth,
        most_processes: Option<MostProcesses>,
        cancel: CancellationToken,
    ) -> Self {
        let (ended, has_ended) = channel();
        let started = Arc::new(OnceLock::new());
        let stop = CancellationToken::new();
        let (pid, stopped) = (Arc::clone(&started), stop.clone());
        let looking = tokio::task::spawn_blocking(move || {
            let stops = (&stopped, &has_ended);
            let excess = look(&guards, growth, most_processes, &pid, stops);
            if excess.is_some() {
                cancel.cancel();
            }
            excess
        });
        Self {
            started,
            stop: stop.drop_guard(),
            ended,
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
        drop(self.ended);
        self.looking.await.ok().flatten()
    }
}

fn look(
    guards: &[Guard],
    growth: Growth,
    most_processes: Option<MostProcesses>,
    process: &OnceLock<u32>,
    (stop, ended): (&CancellationToken, &Receiver<()>),
) -> Option<Excess> {
    let mut next_walk = Instant::now() + MEASURE.max(growth.took * SHARE);
    while !stop.is_cancelled() {
        let process = process.get();
        if let Some(excess) = process.and_then(|process| taken(*process, most_processes)) {
            return Some(excess);
        }
        let now = Instant::now();
        if now >= next_walk {
            let measured: Result<u64, ScanError> =
                (guards.iter()).map(|guard| disk_usage(guard, stop)).sum();
            let grown = match measured {
                Ok(bytes) => bytes.saturating_sub(growth.before),
                Err(problem) => return Some(Excess::Unmeasurable(problem)),
            };
            if grown > growth.most {
                return Some(Excess::Disk(grown, growth.most));
            }
            next_walk = Instant::now() + MEASURE.max(now.elapsed() * SHARE);
        }
        // It ends at once when the run does.
        let _ = ended.recv_timeout(LOOK);
    }
    None
}

/// What a process and all its descendants take, when that is too much.
fn taken(root: u32, most_processes: Option<MostProcesses>) -> Option<Excess> {
    let (mut tasks, mut memory, mut processes) = (0, 0, 0);
    for process in tree::family(root, MAX_TASKS + OWN_TASKS + 1) {
        let status = tree::status(process);
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse::<u64>().ok()
        };
        tasks += field("Threads:").unwrap_or(1) as usize;
        memory += field("RssAnon:").unwrap_or(0) * 1024;
        processes += usize::from(process != root && tree::is_alive(&status));
        if tasks > MAX_TASKS + OWN_TASKS {
            return Some(Excess::Tasks(tasks - OWN_TASKS));
        }
    }
    if let Some(MostProcesses { own, more }) = most_processes
        && processes > own + more
    {
        return Some(Excess::Processes(processes - own, more));
    }
    (memory > MAX_MEMORY).then_some(Excess::Memory(memory))
}
