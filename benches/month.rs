//! What a console holds that stays open for a month: entries of its lists, and memory of the process.
//!
//! `cargo bench --bench month`. `LEVERFRAME_BENCH_TURNS` is how many turns there are on a day. It plays events through
//! the state of the console, and fails where a list is longer in the last week than in the second.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::wildcard_imports,
    missing_docs,
    dead_code
)] // a bench is a test, and uses a part of the fixture

#[path = "../tests/it/console_frames/driver.rs"]
mod driver;
#[path = "../tests/it/console_frames/fixture.rs"]
mod fixture;
#[path = "../tests/it/console_state/month.rs"]
mod month;
#[path = "../tests/it/console_frames/styled.rs"]
mod styled;

/// Where the tests have these.
mod console_frames {
    pub(crate) use crate::{driver, fixture, styled};
}

use std::collections::BTreeMap;

use crate::month::Listener;

const DAYS: usize = 30;
/// Days after which every list has its full length.
const FULL: usize = 7;

/// Resident memory of this process, in KiB.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().nth(1));
    number.and_then(|text| text.parse().ok()).unwrap_or(0)
}

fn main() {
    let turns = std::env::var("LEVERFRAME_BENCH_TURNS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(500_usize);
    let mut console = Listener::new();
    let mut early: BTreeMap<&str, usize> = BTreeMap::new();
    let mut late: BTreeMap<&str, usize> = BTreeMap::new();
    println!("day  turns  approvals  turns held  sessions  outputs  content KiB  resident KiB");
    for day in 1..=DAYS {
        for _ in 0..turns {
            console.turn();
            let most = if day <= 2 * FULL {
                &mut early
            } else {
                &mut late
            };
            if day > FULL {
                for (what, count) in console.held() {
                    let known = most.entry(what).or_default();
                    *known = count.max(*known);
                }
            }
        }
        let held: BTreeMap<_, _> = console.held().into_iter().collect();
        println!(
            "{day:>3}  {:>5}  {:>9}  {:>10}  {:>8}  {:>7}  {:>11}  {:>12}",
            day * turns,
            held["approvals"],
            held["turns"],
            held["sessions"],
            held["outputs"],
            held["bytes of arguments and diffs"] / 1024,
            resident()
        );
    }
    for (what, most) in &late {
        let before = early.get(what).copied().unwrap_or_default();
        // A list may be cut a little later or earlier.
        assert!(
            *most <= before + before / 50 + 2,
            "{what} grow: {before} in the second week, {most} later"
        );
    }
    println!("no list is longer in the last two weeks than in the second");
}
