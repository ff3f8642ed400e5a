//! What the kernel says of a process.

use std::time::{Duration, Instant};

/// A look at a process.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    pub at: Instant,
    pub resident_kib: u64,
    pub descriptors: usize,
    pub threads: u64,
    /// Times that a thread of it began to run again after it had waited.
    pub wake_ups: u64,
    /// Hundredths of a second of processor time.
    pub ticks: u64,
}

fn number(text: &str, field: &str) -> u64 {
    text.lines()
        .find_map(|line| line.strip_prefix(field))
        .and_then(|rest| rest.split_whitespace().next())
        .and_then(|word| word.parse().ok())
        .unwrap_or_else(|| panic!("no {field} in {text}"))
}

/// Looks at a process.
pub fn sample(pid: u32) -> Sample {
    let read = |name: &str| std::fs::read_to_string(format!("/proc/{pid}/{name}")).unwrap();
    let status = read("status");
    let stat = read("stat");
    let fields: Vec<&str> = stat
        .rsplit(')')
        .next()
        .unwrap()
        .split_whitespace()
        .collect();
    let ticks = |at: usize| fields[at].parse::<u64>().unwrap();
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let wake_ups = tasks
        .filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("status")).ok())
        .map(|status| number(&status, "voluntary_ctxt_switches:"))
        .sum();
    Sample {
        at: Instant::now(),
        resident_kib: number(&status, "VmRSS:"),
        descriptors: std::fs::read_dir(format!("/proc/{pid}/fd"))
            .unwrap()
            .count(),
        threads: number(&status, "Threads:"),
        wake_ups,
        ticks: ticks(11) + ticks(12),
    }
}

/// What a process does when nothing happens.
#[derive(Debug, Clone, Copy)]
pub struct Idle {
    pub wake_ups_a_second: f64,
    /// Percent of one processor.
    pub processor: f64,
    pub resident_mib: f64,
    pub descriptors: usize,
    pub threads: u64,
}

/// Watches a process for `window`, once it has settled for as long.
pub async fn idle(pid: u32, window: Duration) -> Idle {
    tokio::time::sleep(window).await;
    let before = sample(pid);
    tokio::time::sleep(window).await;
    let after = sample(pid);
    let seconds = after.at.duration_since(before.at).as_secs_f64();
    Idle {
        wake_ups_a_second: (after.wake_ups - before.wake_ups) as f64 / seconds,
        processor: (after.ticks - before.ticks) as f64 / seconds,
        resident_mib: mib(after.resident_kib),
        descriptors: after.descriptors,
        threads: after.threads,
    }
}

pub fn mib(kib: u64) -> f64 {
    kib as f64 / 1024.0
}
