//! How a command ends. The numbers are a contract (API.md).

use std::fmt::{Display, Write as _};
use std::io;
use std::path::Path;

use crate::protocol::problem::{Problem, ProblemKind};
use crate::runtime::alone::{AloneFailure, Unusable};
use crate::runtime::start::StartError;

/// Why a command did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The engine refused or failed.
    #[error("{0}")]
    Problem(#[from] Problem),
    /// The command line or the configuration is wrong.
    #[error("{0}")]
    Usage(String),
    /// No daemon answers.
    #[error("{0}")]
    NothingRunning(String),
    /// Something waits for a person; what, was printed.
    #[error("waiting for a person")]
    Waiting,
    /// The turn ended without an answer; what, was printed.
    #[error("{0}")]
    Ended(String),
    /// The output could not be written.
    #[error("writing the output: {0}")]
    Output(#[from] io::Error),
    /// Anything else.
    #[error("{0:#}")]
    Other(#[from] anyhow::Error),
}

/// [`Failure::Usage`] in the words of `format!`.
macro_rules! usage {
    ($($words:tt)*) => {
        crate::cli::exit::Failure::Usage(format!($($words)*))
    };
}
pub(crate) use usage;

impl From<Unusable> for Failure {
    fn from(error: Unusable) -> Self {
        Failure::Usage(error.to_string())
    }
}

impl From<AloneFailure> for Failure {
    fn from(error: AloneFailure) -> Self {
        match error {
            AloneFailure::Unusable(error) => error.into(),
            AloneFailure::Start(error @ StartError::Locked(_)) => {
                Problem::new(ProblemKind::Conflict, "in use", error.to_string()).into()
            }
            AloneFailure::Start(StartError::Other(error)) => error.into(),
            AloneFailure::Problem(problem) => problem.into(),
        }
    }
}

impl Failure {
    /// The command line or the configuration is wrong, in these words.
    pub fn usage(problem: impl Display) -> Self {
        Self::Usage(problem.to_string())
    }

    /// The command did not get what it wanted, in these words.
    pub fn ended(problem: impl Display) -> Self {
        Self::Ended(problem.to_string())
    }

    /// A file cannot be used.
    pub fn at(file: &Path, problem: impl Display) -> Self {
        Self::Usage(format!("{}: {problem}", file.display()))
    }

    /// The same before the command did what was asked: a reader that has seen enough makes it fail. `undone` says what
    /// was not done.
    pub fn before(self, undone: &str) -> Self {
        match self {
            Failure::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                Failure::Ended(format!("the output was closed: {undone}"))
            }
            other => other,
        }
    }

    /// The exit status.
    pub fn status(&self) -> u8 {
        match self {
            Failure::Problem(problem) => match problem.kind {
                ProblemKind::Invalid => 2,
                ProblemKind::Unauthenticated | ProblemKind::Forbidden => 4,
                ProblemKind::Conflict | ProblemKind::Gone => 5,
                ProblemKind::NotFound
                | ProblemKind::NotOffered
                | ProblemKind::TooMany
                | ProblemKind::Unavailable
                | ProblemKind::Internal => 1,
            },
            Failure::Usage(_) => 2,
            Failure::NothingRunning(_) => 3,
            Failure::Waiting => 6,
            Failure::Ended(_) | Failure::Other(_) => 1,
            // The reader has seen enough: `leverframe sessions list | head` is no failure.
            Failure::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => 0,
            Failure::Output(_) => 1,
        }
    }

    /// What is said on standard error; none = nothing.
    pub fn message(&self) -> Option<String> {
        match self {
            Failure::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => None,
            Failure::Waiting => None,
            Failure::Problem(problem) => {
                let mut text = format!("{}: {}", problem.title, problem.detail);
                // Writing to a string cannot fail.
                if let Some(winner) = &problem.winner {
                    let _ = write!(
                        text,
                        "\ndecided first: {} by {} on {} at {}",
                        winner.decision, winner.by, winner.surface, winner.at
                    );
                }
                if let Some(hint) = &problem.hint {
                    let _ = write!(text, "\n{hint}");
                }
                Some(text)
            }
            Failure::Usage(_)
            | Failure::NothingRunning(_)
            | Failure::Ended(_)
            | Failure::Output(_)
            | Failure::Other(_) => Some(self.to_string()),
        }
    }
}
