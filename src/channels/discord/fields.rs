//! Looking fields up in what Discord sends. A field of another shape is as one that is not there.

use serde_json::Value;

/// Longest word from outside in a sentence of ours, in characters.
const MAX_WORD: usize = 40;

/// An id: digits in text, as Discord sends them, and never zero.
pub fn id(value: &Value, pointer: &str) -> Option<u64> {
    text(value, pointer)?.parse().ok().filter(|id| *id > 0)
}

/// A word from outside, fit for our own sentence.
pub fn word(text: &str) -> String {
    text.chars()
        .take(MAX_WORD)
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '_' {
                c
            } else {
                '?'
            }
        })
        .collect()
}

/// A text in a value.
pub fn text<'a>(value: &'a Value, pointer: &str) -> Option<&'a str> {
    value.pointer(pointer).and_then(Value::as_str)
}

/// A whole number in a value.
pub fn int(value: &Value, pointer: &str) -> Option<u64> {
    value.pointer(pointer).and_then(Value::as_u64)
}

/// A list in a value; what is none is empty.
pub fn list<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value
        .pointer(pointer)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}
