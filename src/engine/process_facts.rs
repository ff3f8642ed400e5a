//! What the system says of this process, for monitoring.

use std::path::Path;

use rustix::process::{Resource, getrlimit};
use rustix::time::{ClockId, clock_gettime};

/// What the system says of this process. None = it does not say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProcessFacts {
    /// Seconds of processor time, user and system together.
    pub cpu_seconds: f64,
    /// Bytes of memory in use.
    pub resident_bytes: Option<u64>,
    /// Descriptors that are open.
    pub open_fds: Option<u64>,
    /// Descriptors that may be open.
    pub max_fds: Option<u64>,
}

/// Asks the system.
pub fn look() -> ProcessFacts {
    let cpu = clock_gettime(ClockId::ProcessCPUTime);
    ProcessFacts {
        cpu_seconds: cpu.tv_sec as f64 + cpu.tv_nsec as f64 / 1e9,
        resident_bytes: resident(Path::new("/proc/self/status")),
        // Reading the folder takes one itself.
        open_fds: std::fs::read_dir("/proc/self/fd")
            .ok()
            .map(|entries| (entries.count() as u64).saturating_sub(1)),
        max_fds: getrlimit(Resource::Nofile).current,
    }
}

fn resident(status: &Path) -> Option<u64> {
    let text = std::fs::read_to_string(status).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kibibytes * 1024)
}
