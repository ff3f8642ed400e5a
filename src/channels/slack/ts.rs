//! Slack's time of a message, which is its id within its channel: `1795684398.000002`.

use std::cmp::Ordering;

/// Which of two is older. What is no time is older than all times.
pub fn compare(one: &str, other: &str) -> Ordering {
    parts(one).cmp(&parts(other))
}

/// Whether the first is older than the second. What is no time is older than all times.
pub fn is_older(one: &str, other: &str) -> bool {
    compare(one, other).is_lt()
}

/// Whether a text is such a time.
pub fn is_time(text: &str) -> bool {
    parts(text).is_some()
}

/// The time so many milliseconds after 1970.
pub fn from_millis(millis: i64) -> String {
    let millis = millis.max(0);
    format!("{}.{:03}000", millis / 1_000, millis % 1_000)
}

fn parts(text: &str) -> Option<(u64, u64)> {
    let (seconds, micros) = text.split_once('.')?;
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(seconds) || !digits(micros) || micros.len() != 6 {
        return None;
    }
    Some((seconds.parse().ok()?, micros.parse().ok()?))
}
