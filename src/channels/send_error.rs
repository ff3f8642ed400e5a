//! What a failed send means for its part.
//!
//! Nothing uncertain counts as known: a send without an answer is unknown unless it can be repeated.

use crate::channels::http::CallError;
use crate::clock::Timestamp;
use crate::protocol::bridge::SendOutcome;

/// The most that the pause between tries doubles: 64 seconds.
const MAX_DOUBLINGS: u32 = 6;

/// What an unanswered call means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repetition {
    /// Doing it again does not show: an edit to a given text, or a send whose key the other side keeps for ever.
    Harmless,
    /// Doing it again may show twice.
    Shows,
}

/// The outcome of a send that failed with `error`. `attempts` is how often the part was handed out before, `said` the error
/// in words.
pub fn outcome(
    error: &CallError,
    repetition: Repetition,
    attempts: u32,
    now: Timestamp,
    said: String,
) -> SendOutcome {
    let later = |millis: i64, error: String| SendOutcome::Retry {
        not_before: now.plus_millis(millis),
        error,
    };
    let pause = 1_000 << attempts.min(MAX_DOUBLINGS);
    match error {
        CallError::NotSent { .. } => later(pause, said),
        CallError::Lost { .. } | CallError::Server { .. } => match repetition {
            Repetition::Harmless => later(pause, said),
            Repetition::Shows => SendOutcome::Unknown { detail: said },
        },
        CallError::Limited { retry_after, .. } => {
            let rest = i64::try_from(retry_after.as_millis()).unwrap_or(i64::MAX);
            later(rest, said)
        }
        CallError::Refused { .. } => SendOutcome::Failed { error: said },
    }
}
