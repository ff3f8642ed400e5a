//! Times as people type them.

use crate::clock::Timestamp;

/// Seconds of `45s`, `30m`, `2h`, `3d`, `1w`; none where it is not one of these.
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

/// An RFC 3339 time; none where it is not one.
pub fn time(text: &str) -> Option<Timestamp> {
    serde_json::from_value(serde_json::Value::String(text.to_owned())).ok()
}
