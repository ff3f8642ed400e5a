//! The keys of conversations.

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
