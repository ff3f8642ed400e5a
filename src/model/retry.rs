//! When a failed model call is tried again. Pure: reads no clock and draws no random number.

use std::time::Duration;

use crate::clock::backoff::doubled;
use crate::model::request::{ModelError, ModelErrorKind};

/// The longest wait a provider may ask for; a longer one is the operator's to judge.
const LONGEST_ASKED_WAIT: Duration = Duration::from_mins(2);
/// Wait before the first repetition, before jitter.
const FIRST_WAIT: Duration = Duration::from_millis(500);
/// Longest wait of our own.
const LONGEST_OWN_WAIT: Duration = Duration::from_secs(8);

/// What the provider asks to wait, where that is longer than anybody should sit through.
pub fn asks_too_long(error: &ModelError) -> Option<Duration> {
    error
        .retry_after
        .filter(|asked| *asked > LONGEST_ASKED_WAIT)
}

/// How long to wait before the next try, or none when there must not be one.
///
/// `attempt` is the number of the try that failed, from 1; `max_attempts` counts all tries.
/// `anything_shown` says that text of this call has reached a reader: repeating it would show two
/// beginnings. `jitter` lies in 0..1 and shortens our own waits by up to a quarter (the way both
/// official SDKs do it); a wait the provider asked for is never shortened.
pub fn retry_delay(
    error: &ModelError,
    attempt: u32,
    max_attempts: u32,
    anything_shown: bool,
    jitter: f64,
) -> Option<Duration> {
    if anything_shown || attempt >= max_attempts {
        return None;
    }
    match error.kind {
        ModelErrorKind::Authentication
        | ModelErrorKind::NotFound
        | ModelErrorKind::InvalidRequest
        | ModelErrorKind::ContextTooLong
        | ModelErrorKind::QuotaExceeded
        | ModelErrorKind::Cancelled => return None,
        ModelErrorKind::Protocol | ModelErrorKind::Unusable if attempt > 1 => return None,
        ModelErrorKind::Protocol
        | ModelErrorKind::Unusable
        | ModelErrorKind::RateLimited
        | ModelErrorKind::Overloaded
        | ModelErrorKind::Unreachable
        | ModelErrorKind::Timeout
        | ModelErrorKind::Disconnected => {}
    }
    if let Some(asked) = error.retry_after {
        return (asked <= LONGEST_ASKED_WAIT).then_some(asked);
    }
    let jitter = if jitter.is_finite() {
        jitter.clamp(0.0, 1.0)
    } else {
        0.0
    };
    let wait = doubled(FIRST_WAIT, attempt, LONGEST_OWN_WAIT);
    Some(wait.mul_f64(1.0 - 0.25 * jitter))
}
