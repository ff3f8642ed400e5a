//! The page of the exit codes, from the failures of the command line.

use std::collections::BTreeMap;
use std::io;

use leverframe::cli::exit::Failure;
use leverframe::protocol::problem::{Problem, ProblemKind};

use crate::documentation::markdown::{Page, prose};
use crate::documentation::source;

/// What each status says.
const WORDS: [&str; 7] = [
    "done",
    "failed",
    "wrong usage or configuration",
    "nothing runs on this data directory",
    "not allowed",
    "conflict: somebody decided already, it changed meanwhile, or it expired",
    "waits for a person",
];

/// What stands behind the table.
const REMARKS: &str = "\
`leverframe doctor` and `leverframe models test` end with 1 where they find a failure.
`leverframe doctor` ends with 2 where a file is no database of Leverframe.";

/// The whole page.
pub fn page() -> String {
    let mut cases: BTreeMap<u8, Vec<[String; 2]>> = BTreeMap::new();
    for failure in source::item("src/cli/exit.rs", "Failure").parts {
        if failure.name == "Problem" {
            continue;
        }
        let case = [prose(&failure.about), String::new()];
        cases.entry(status(&failure.name)).or_default().push(case);
    }
    for kind in source::item("src/protocol/problem.rs", "ProblemKind").parts {
        let word = format!("\"{}\"", source::lower(&kind.name, '_'));
        let known: ProblemKind = serde_json::from_str(&word).expect("the word of a kind");
        let failure = Failure::from(Problem::new(known, "", ""));
        let (about, _) = kind.about.split_once(" HTTP ").expect("its HTTP status");
        let case = [prose(about), known.http_status().to_string()];
        cases.entry(failure.status()).or_default().push(case);
    }
    let mut page = Page::new("Exit codes");
    page.paragraph("A command ends with one of these codes.");
    let words: Vec<[String; 2]> = WORDS
        .iter()
        .enumerate()
        .map(|(status, word)| [status.to_string(), (*word).to_owned()])
        .collect();
    page.table(["code", "meaning"], &words);
    page.heading(2, "Cases");
    page.paragraph("The HTTP status is that of the same refusal over HTTP.");
    let rows: Vec<[String; 3]> = cases
        .into_iter()
        .flat_map(|(status, cases)| {
            assert!(usize::from(status) < WORDS.len(), "no word for {status}");
            cases
                .into_iter()
                .map(move |[about, http]| [status.to_string(), http, about])
        })
        .collect();
    page.table(["code", "HTTP", "case"], &rows);
    page.paragraph(REMARKS);
    page.finish()
}

/// The status of the variant with this name.
fn status(name: &str) -> u8 {
    let text = String::new;
    let known = [
        ("Usage", Failure::Usage(text())),
        ("NothingRunning", Failure::NothingRunning(text())),
        ("Waiting", Failure::Waiting),
        ("Ended", Failure::Ended(text())),
        ("Output", Failure::Output(io::Error::other("full"))),
        ("Other", Failure::Other(anyhow::anyhow!("other"))),
    ];
    let found = known.into_iter().find(|(known, _)| *known == name);
    found
        .unwrap_or_else(|| panic!("no example of {name}"))
        .1
        .status()
}
