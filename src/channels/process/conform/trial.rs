//! A trial: every case, one after the other.

use crate::channels::process::conform::lab::Lab;
use crate::channels::process::conform::table::CASES;
use crate::client::program::{LogLine, ProgramStarter};

/// How a case ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CaseResult {
    /// The program did what is expected.
    Passed,
    /// The program does not claim what is tried.
    Skipped {
        /// What it does not claim.
        why: String,
    },
    /// It did something else.
    Failed {
        /// What.
        got: String,
    },
}

/// A case and how it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseOutcome {
    /// Its name.
    pub case: &'static str,
    /// What is expected.
    pub expected: &'static str,
    /// How it ended.
    pub result: CaseResult,
}

/// Tries a program: the cases `only`, or all where it is empty, after its hello. `log` hears its standard error, `told` each
/// outcome as it comes. Where it says no hello nothing else is tried.
pub async fn run(
    program: &dyn ProgramStarter,
    log: LogLine,
    only: &[String],
    mut told: impl FnMut(&CaseOutcome),
) -> Vec<CaseOutcome> {
    let lab = Lab::new(program, log);
    let mut outcomes = Vec::new();
    let wanted = |name: &str| only.is_empty() || only.iter().any(|one| one == name);
    for (at, case) in CASES.iter().enumerate() {
        if at > 0 && !wanted(case.name) {
            continue;
        }
        let result = match (case.run)(&lab).await {
            Ok(None) => CaseResult::Passed,
            Ok(Some(why)) => CaseResult::Skipped {
                why: why.to_owned(),
            },
            Err(got) => CaseResult::Failed { got },
        };
        let is_over = outcomes.is_empty() && matches!(result, CaseResult::Failed { .. });
        let outcome = CaseOutcome {
            case: case.name,
            expected: case.expected,
            result,
        };
        told(&outcome);
        outcomes.push(outcome);
        if is_over {
            break;
        }
    }
    outcomes
}
