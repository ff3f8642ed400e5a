//! The report as it is committed says what the README says of it.

use std::path::Path;

use crate::crash_points::points;
use crate::reliability::page::structure;
use crate::reliability::write::committed;

/// The fewest schedules that are promised.
const SCHEDULES: u64 = 80;

/// Cells of the rows below a heading.
fn rows(page: &str, heading: &str) -> Vec<Vec<String>> {
    page.lines()
        .skip_while(|line| *line != heading)
        .skip(1)
        .take_while(|line| !line.starts_with("## "))
        .filter_map(|line| line.strip_prefix("| "))
        .map(|row| {
            let row = row.trim_end_matches(" |");
            row.split(" | ").map(str::to_owned).collect()
        })
        .collect()
}

#[test]
fn the_committed_report_is_whole_and_the_readme_leads_to_it() {
    let page = std::fs::read_to_string(committed()).expect("tests/RELIABILITY.md");
    let headings = structure(&page);
    for heading in [
        "# Reliability",
        "## What is promised",
        "## Deaths of the process",
        "## Rules switched off",
        "## Loss of power",
        "## Model test",
        "## Faults",
        "## Try it yourself",
        "## What this does not prove",
    ] {
        assert!(headings.iter().any(|found| found == heading), "{heading}");
    }
    let total = page
        .lines()
        .find_map(|line| {
            let line = line.strip_prefix("**")?.strip_suffix(".**")?;
            let (schedules, violations) = line.split_once(" schedules, ")?;
            let violations = violations.strip_suffix(" violations")?;
            Some((
                schedules.parse::<u64>().ok()?,
                violations.parse::<u64>().ok()?,
            ))
        })
        .expect("the count of schedules");
    assert!(
        total.0 >= SCHEDULES && total.1 == 0,
        "{} schedules, {} violations",
        total.0,
        total.1
    );
    let deaths = rows(&page, "## Deaths of the process");
    let counted: u64 = deaths
        .iter()
        .filter(|row| !row[0].contains('.'))
        .filter_map(|row| row.get(1)?.parse::<u64>().ok())
        .sum();
    assert_eq!(counted, total.0, "the scenarios do not add up");
    let tried = rows(&page, "## Rules switched off");
    for row in tried.iter().skip(1) {
        assert!(row.get(2).is_some_and(|caught| caught == "yes"), "{row:?}");
    }
    for rule in points::rules_in_source() {
        let named = format!("`{rule}`");
        assert!(tried.iter().any(|row| row[0] == named), "{rule}");
    }
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let readme = std::fs::read_to_string(readme).expect("README.md");
    assert!(readme.contains("](tests/RELIABILITY.md)"), "no link");
}
