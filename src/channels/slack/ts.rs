//! Slack's time of a message, which is its id within its channel: `1795684398.000002`.

use std::cmp::Ordering;

/// Microseconds of a second.
const MICROS: u64 = 1_000_000;

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

/// The time so many microseconds earlier; none of what is no time.
pub fn earlier(time: &str, micros: u64) -> Option<String> {
    let at = parts(time).map(in_micros)?.saturating_sub(micros);
    Some(format!("{}.{:06}", at / MICROS, at % MICROS))
}

/// Microseconds from one time to a later one; none if it is older, or where one is no time.
pub fn micros_between(one: &str, later: &str) -> Option<u64> {
    let (one, later) = (parts(one)?, parts(later)?);
    in_micros(later).checked_sub(in_micros(one))
}

fn in_micros((seconds, micros): (u64, u64)) -> u64 {
    seconds.saturating_mul(MICROS).saturating_add(micros)
}

fn parts(text: &str) -> Option<(u64, u64)> {
    let (seconds, micros) = text.split_once('.')?;
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(seconds) || !digits(micros) || micros.len() != 6 {
        return None;
    }
    Some((seconds.parse().ok()?, micros.parse().ok()?))
}
