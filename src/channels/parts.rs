//! What becomes of a part: the content of its file, its pieces, and what a failed send means for it.
//!
//! Nothing uncertain counts as known: a send without an answer is unknown unless it can be repeated.

use std::time::Duration;

use crate::channels::health::HealthLog;
use crate::channels::http::CallError;
use crate::client::channel_port::ChannelPort;
use crate::clock::Timestamp;
use crate::protocol::artifact::SentFile;
use crate::protocol::bridge::SendOutcome;

/// How often a later piece of a message is tried while it is certain that it was not sent.
pub const PIECE_TRIES: u32 = 4;
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
pub fn failed(
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

/// What is not sent and may be in so many seconds; `said` is why.
pub fn retry_in(seconds: i64, now: Timestamp, said: String) -> SendOutcome {
    SendOutcome::Retry {
        not_before: now.plus_seconds(seconds),
        error: said,
    }
}

/// What is never sent, and why.
pub fn never(error: impl Into<String>) -> SendOutcome {
    SendOutcome::Failed {
        error: error.into(),
    }
}

/// The platform took a part. `whole`: what it took shows everything.
pub fn accepted(health: &HealthLog, external_refs: Vec<String>, whole: bool) -> SendOutcome {
    health.sent();
    if whole {
        SendOutcome::Sent { external_refs }
    } else {
        SendOutcome::Shortened { external_refs }
    }
}

/// The content of a file that is to be sent.
///
/// # Errors
/// What that means for its part.
pub async fn file_content(port: &dyn ChannelPort, file: &SentFile) -> Result<Vec<u8>, SendOutcome> {
    let content = port.file_content(file.artifact.hash).await;
    content.map_err(|problem| never(format!("the file cannot be read: {problem}")))
}

/// Sends the pieces of a message by `send`, which gets each with its number; what `send` gave for each.
///
/// Once the first is out, the others wait for their `slot` and are tried `tries` times while it is certain that they
/// were not sent. `failed` hears of each try but the last.
///
/// # Errors
/// How many were sent, and the error of the next one.
pub async fn send_pieces<'a, T, F>(
    pieces: &'a [String],
    tries: u32,
    slot: impl Fn() -> Result<(), Duration>,
    send: impl Fn(&'a str, usize) -> F,
    failed: impl Fn(&CallError),
) -> Result<Vec<T>, (usize, CallError)>
where
    F: Future<Output = Result<T, CallError>>,
{
    let mut sent = Vec::new();
    for (at, piece) in pieces.iter().enumerate() {
        let mut tried = 0;
        loop {
            if at > 0 {
                while let Err(wait) = slot() {
                    tokio::time::sleep(wait).await;
                }
            }
            let error = match send(piece, at).await {
                Ok(one) => {
                    sent.push(one);
                    break;
                }
                Err(error) => error,
            };
            tried += 1;
            let rest = match &error {
                CallError::NotSent { .. } => Duration::from_secs(1 << tried.min(4)),
                CallError::Limited { retry_after, .. }
                    if *retry_after <= Duration::from_mins(1) =>
                {
                    *retry_after
                }
                CallError::Limited { .. }
                | CallError::Lost { .. }
                | CallError::Server { .. }
                | CallError::Refused { .. } => return Err((at, error)),
            };
            if at == 0 || tried >= tries {
                return Err((at, error));
            }
            failed(&error);
            tokio::time::sleep(rest).await;
        }
    }
    Ok(sent)
}

/// What is known of a message of which `sent` of `all` pieces are out. `said`: the error of the next one.
pub fn partly_sent(sent: usize, all: usize, said: &str) -> SendOutcome {
    SendOutcome::Unknown {
        detail: format!("{sent} of {all} pieces were delivered, then: {said}"),
    }
}
