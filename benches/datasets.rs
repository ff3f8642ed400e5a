//! A CSV of a million rows becomes a Parquet file, and is asked.
//!
//! `TMPDIR` says on which disk.

#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)] // a bench is a test

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use leverframe::datasets::{Input, convert, query};
use leverframe::protocol::dataset::DatasetQuery;
use serde_json::json;

/// Most that a million rows may take.
const GOAL: Duration = Duration::from_millis(500);
/// Most memory that it may take, in MiB.
const GOAL_MIB: u64 = 60;
const ROWS: u64 = 1_000_000;
const RUNS: usize = 5;

/// Most memory that this process had at once, in MiB.
fn peak_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok());
    kib.unwrap_or(0) / 1024
}

fn main() {
    let dir = tempfile::tempdir().unwrap();
    let from = dir.path().join("in.csv");
    {
        // A piece at a time, so that it does not count as memory of the conversion.
        use std::io::Write as _;
        let mut out = std::io::BufWriter::new(std::fs::File::create(&from).unwrap());
        writeln!(out, "id,city,amount,day").unwrap();
        let mut line = String::new();
        for row in 0..ROWS {
            line.clear();
            writeln!(
                line,
                "{row},city {},{}.{},2024-{:02}-{:02}",
                row % 997,
                row % 1013,
                row % 100,
                row % 12 + 1,
                row % 28 + 1
            )
            .unwrap();
            out.write_all(line.as_bytes()).unwrap();
        }
    }
    let size = std::fs::metadata(&from).unwrap().len();
    println!("{ROWS} rows, {size} bytes, {} MiB before", peak_mib());
    let mut best = Duration::MAX;
    let to = dir.path().join("out.parquet");
    for _ in 0..RUNS {
        let _ = std::fs::remove_file(&to);
        let began = Instant::now();
        let input = Input {
            path: &from,
            name: "in.csv",
            max_bytes: u64::MAX,
        };
        let made = convert(input, &to).unwrap();
        best = best.min(began.elapsed());
        assert_eq!(made.rows, ROWS);
    }
    println!(
        "conversion {best:?} (goal {GOAL:?}), {} MiB at most (goal {GOAL_MIB})",
        peak_mib()
    );
    let question: DatasetQuery = serde_json::from_value(json!({
        "where": [{"column": "day", "op": "<", "value": "2024-07-01"}],
        "group_by": ["city"], "aggregate": [{"fn": "sum", "column": "amount"}],
    }))
    .unwrap();
    let began = Instant::now();
    let answer = query(&to, &question).unwrap();
    println!("question {:?}, {} groups", began.elapsed(), answer.total);
}
