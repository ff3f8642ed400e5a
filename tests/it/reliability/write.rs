//! Writing the report after a run of the suites.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::reliability::facts::{Facts, built};
use crate::reliability::page::{Source, render, structure};
use crate::support::record;

/// The report in the repository.
pub fn committed() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/RELIABILITY.md")
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git")
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

fn source() -> Source {
    let commit = git(&["rev-parse", "--short=10", "HEAD"]).unwrap_or_else(|| "unknown".to_owned());
    // The report itself does not count: it is always written behind the commit that it is about.
    let changed = git(&["status", "--porcelain", "--", ".", ":!tests/RELIABILITY.md"])
        .is_none_or(|changes| !changes.is_empty());
    Source {
        commit: if changed {
            format!("{commit} with changes")
        } else {
            commit
        },
        agents: results("tests/peers/agents/results.json"),
        soak: results("tests/it/channel_soak/results.json"),
    }
}

/// What a script wrote that a person runs.
fn results(file: &str) -> BTreeMap<String, Value> {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file));
    serde_json::from_str(&text.expect(file)).expect(file)
}

fn has(variable: &str) -> bool {
    std::env::var_os(variable).is_some_and(|value| value == "1")
}

/// Rows that are there only when somebody asked for them.
fn is_optional(row: &str) -> bool {
    row == "| soak"
}

/// After `cargo test`: writes the report below the target directory and compares its rows with the committed one's.
/// With `LEVERFRAME_WRITE_REPORT=1` the committed one is replaced instead; with `LEVERFRAME_REPORT_PARTIAL=1` facts may be
/// missing.
#[test]
#[ignore = "reads what the other suites recorded: tests/write_reliability_report.sh, .ci/run"]
fn write_report() {
    let facts = Facts::read(&record::directory(), built());
    let missing = facts.missing();
    assert!(
        missing.is_empty() || has("LEVERFRAME_REPORT_PARTIAL"),
        "this build's suites recorded nothing of {missing:?}: run `cargo test` first, all of it"
    );
    let page = render(&facts, &source());
    if has("LEVERFRAME_WRITE_REPORT") {
        std::fs::write(committed(), page).expect("the report");
        return;
    }
    std::fs::write(record::directory().join("RELIABILITY.md"), &page).expect("the report");
    let old = std::fs::read_to_string(committed()).unwrap_or_default();
    let (old, new) = (structure(&old), structure(&page));
    let lost: Vec<&String> = old.iter().filter(|row| !new.contains(row)).collect();
    let gained: Vec<&String> = new.iter().filter(|row| !old.contains(row)).collect();
    assert!(
        lost.iter().chain(&gained).all(|row| is_optional(row)),
        "tests/RELIABILITY.md is of another suite; run tests/write_reliability_report.sh. Only there: {lost:?}; only here: {gained:?}"
    );
}
