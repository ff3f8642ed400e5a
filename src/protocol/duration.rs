//! Durations and times as people type them.

use crate::clock::{Day, Timestamp};

/// Seconds of `45s`, `30m`, `2h`, `3d`, `1w`; none = the text is none of these.
pub fn seconds(text: &str) -> Option<i64> {
    let split = text.len() - text.chars().next_back().map_or(0, char::len_utf8);
    let (count, unit) = text.split_at(split);
    let unit = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 24 * 3600,
        "w" => 7 * 24 * 3600,
        _ => return None,
    };
    count
        .parse::<u32>()
        .ok()
        .map(|count| unit * i64::from(count))
}

/// A duration in words: `5 minutes`, `12 hours`.
pub fn span(millis: u64) -> String {
    let (count, unit) = match millis / 1000 {
        seconds @ 0..60 => (seconds, "second"),
        seconds @ 60..3600 => (seconds / 60, "minute"),
        seconds @ 3600..172_800 => (seconds / 3600, "hour"),
        seconds => (seconds / 86_400, "day"),
    };
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {unit}{plural}")
}

/// The moment that a text names: a duration from `now` (`30m`), the end of a day (`2026-12-24`), a
/// local time (`2026-12-24 18:00`) or an RFC 3339 time. None = the text is none of these, or the
/// moment is past.
pub fn ahead(text: &str, now: Timestamp) -> Option<Timestamp> {
    let text = text.trim();
    let ends = match (seconds(text), text.parse::<Day>()) {
        (Some(seconds), _) => Some(now.plus_seconds(seconds)),
        (None, Ok(day)) => Day(day.0 + 1).begins(),
        (None, Err(_)) => time(text).or_else(|| Timestamp::local(text)),
    };
    ends.filter(|at| *at > now)
}

/// An RFC 3339 time; none = the text is not one.
pub fn time(text: &str) -> Option<Timestamp> {
    serde_json::from_value(serde_json::Value::String(text.to_owned())).ok()
}
