//! The processes below a supervisor, by what `/proc` says. Where there is none, nothing is below it.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};

/// Most looks for processes that came meanwhile.
const LOOKS: usize = 16;

/// A process and those below it, itself first; at most `most`.
pub(super) fn family(root: u32, most: usize) -> Vec<u32> {
    let mut every = None;
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    let mut open = vec![root];
    while let Some(process) = open.pop() {
        // A process can be met twice when it gets another parent during the look.
        if !seen.insert(process) {
            continue;
        }
        found.push(process);
        if found.len() >= most {
            break;
        }
        open.extend(match children(Path::new(&format!("/proc/{process}"))) {
            Some(children) => children,
            // The kernel was built without these lists.
            None => every
                .get_or_insert_with(by_parent)
                .remove(&process)
                .unwrap_or_default(),
        });
    }
    found
}

/// What `/proc` says about a process; empty = it is gone.
pub(super) fn status(process: u32) -> String {
    std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default()
}

/// Whether a process lives, by its status.
pub(super) fn is_alive(status: &str) -> bool {
    let state = status.lines().find_map(|line| line.strip_prefix("State:"));
    state.is_some_and(|state| !state.trim_start().starts_with(['Z', 'X']))
}

/// How many processes live below a supervisor.
pub fn count(supervisor: u32) -> usize {
    let below = family(supervisor, usize::MAX).into_iter().skip(1);
    below.filter(|process| is_alive(&status(*process))).count()
}

/// Suspends all processes below a supervisor, also those that they start meanwhile.
pub fn suspend(supervisor: u32) {
    let mut told = HashSet::new();
    for _ in 0..LOOKS {
        let mut new = family(supervisor, usize::MAX);
        new.retain(|process| *process != supervisor && told.insert(*process));
        if new.is_empty() {
            return;
        }
        for process in new {
            send(process, Signal::STOP);
        }
    }
}

/// Lets suspended processes below a supervisor go on.
pub fn resume(supervisor: u32) {
    for process in family(supervisor, usize::MAX).into_iter().skip(1) {
        send(process, Signal::CONT);
    }
}

fn send(process: u32, signal: Signal) {
    let process = i32::try_from(process).ok().and_then(Pid::from_raw);
    if let Some(process) = process {
        // It may have ended just now.
        let _ = kill_process(process, signal);
    }
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
