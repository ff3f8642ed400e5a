//! Fields of Slack's JSON, and the keys of conversations.

use serde_json::Value;

/// `channel` or `channel/thread`. The first message of a thread stands in the channel.
pub fn conversation(channel: &str, thread: Option<&str>, ts: Option<&str>) -> String {
    match thread.filter(|thread| !thread.is_empty() && Some(*thread) != ts) {
        Some(thread) => format!("{channel}/{thread}"),
        None => channel.to_owned(),
    }
}

/// The channel and thread of a conversation key.
pub fn parse_conversation(key: &str) -> (&str, Option<&str>) {
    match key.split_once('/') {
        Some((channel, thread)) => (channel, Some(thread)),
        None => (key, None),
    }
}

/// Whether a channel is a direct message with one person.
pub fn is_direct(channel: &str) -> bool {
    channel.starts_with('D')
}

/// A word from outside, fit for our own sentence.
pub fn word(text: &str) -> String {
    text.chars()
        .take(40)
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '_' {
                c
            } else {
                '?'
            }
        })
        .collect()
}

/// Whether a field is there.
pub fn has(value: &Value, field: &str) -> bool {
    value.get(field).is_some_and(|field| !field.is_null())
}

/// The text at a place of a value.
pub fn text_at<'a>(value: &'a Value, pointer: &str) -> Option<&'a str> {
    value.pointer(pointer).and_then(Value::as_str)
}
