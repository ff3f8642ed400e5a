//! `leverframe channels conform -- COMMAND`: does a program speak the bridge protocol? Talks to no daemon.

use serde::Serialize;

use crate::cli::exit::{Failure, usage};
use crate::cli::temporary_directory::TemporaryDirectory;
use crate::cli::terminal::{Terminal, cell};
use crate::config::environment::Environment;
use crate::runtime::conform::{self, CaseOutcome, CaseResult};

/// Test whether a program speaks the bridge protocol; needs no daemon
#[derive(Debug, clap::Args)]
pub struct ConformArguments {
    /// Only this case; can be given again
    #[arg(long, value_name = "NAME")]
    case: Vec<String>,
    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// A case, as `--json` prints it.
#[derive(Debug, Serialize)]
struct CaseLine<'a> {
    /// Its name.
    case: &'a str,
    /// `pass`, `skip` or `fail`.
    result: &'a str,
    /// What is expected.
    expected: &'a str,
    /// What the program did, or does not claim.
    #[serde(skip_serializing_if = "Option::is_none")]
    got: Option<&'a str>,
}

impl<'a> CaseLine<'a> {
    fn of(outcome: &'a CaseOutcome) -> Self {
        let (result, got) = match &outcome.result {
            CaseResult::Passed => ("pass", None),
            CaseResult::Skipped { why } => ("skip", Some(why.as_str())),
            CaseResult::Failed { got } => ("fail", Some(got.as_str())),
        };
        Self {
            case: outcome.case,
            result,
            expected: outcome.expected,
            got,
        }
    }
}

/// Tries a program and prints each case as it ends. Fails where one failed.
pub async fn run(terminal: &mut Terminal<'_>, arguments: ConformArguments) -> Result<(), Failure> {
    let ConformArguments {
        case: only,
        command,
    } = arguments;
    if let Some(unknown) = only
        .iter()
        .find(|name| !conform::names().any(|one| one == *name))
    {
        let names: Vec<&str> = conform::names().collect();
        return Err(usage!(
            "there is no case `{unknown}`; the cases are {}",
            names.join(", ")
        ));
    }
    let environment = Environment::capture();
    let directory = std::env::current_dir().map_err(anyhow::Error::new)?;
    let mut written = Ok(());
    let told = |outcome: &CaseOutcome| {
        if written.is_ok() {
            written = print(terminal, &CaseLine::of(outcome));
        }
    };
    let path = environment.get("PATH");
    let own = TemporaryDirectory::new("conform")?;
    let conformance = conform::run(command, &directory, &own.path, path, &only, told).await;
    written?;
    let count = |wanted: fn(&CaseResult) -> bool| {
        let outcomes = conformance.outcomes.iter();
        outcomes.filter(|outcome| wanted(&outcome.result)).count()
    };
    let failed = count(|result| matches!(result, CaseResult::Failed { .. }));
    let passed = count(|result| matches!(result, CaseResult::Passed));
    let skipped = count(|result| matches!(result, CaseResult::Skipped { .. }));
    let sum = format!("{passed} passed, {skipped} skipped, {failed} failed");
    if failed == 0 {
        return terminal.note(&sum);
    }
    for line in &conformance.log {
        terminal.note(&format!("standard error: {line}"))?;
    }
    Err(Failure::Ended(format!(
        "{sum}; the protocol: docs/src/develop/bridge-protocol.md"
    )))
}

fn print(terminal: &mut Terminal<'_>, case: &CaseLine<'_>) -> Result<(), Failure> {
    terminal.show(case, |terminal, _| {
        terminal.line(&format!(
            "{:4}  {:14}  {}",
            case.result, case.case, case.expected
        ))?;
        match case.got {
            Some(got) => terminal.line(&format!("      {:14}  got: {}", "", cell(got))),
            None => Ok(()),
        }
    })?;
    // A case can take seconds.
    Ok(terminal.out.flush()?)
}
