//! Looking fields up in the JSON of a platform. A field of another shape is as one that is not there.

use serde_json::Value;

/// Longest word from outside in a sentence of ours, in characters.
const MAX_WORD: usize = 40;

/// The text at a place of a value.
pub fn text_at<'a>(value: &'a Value, pointer: &str) -> Option<&'a str> {
    value.pointer(pointer).and_then(Value::as_str)
}

/// The list at a place of a value; what is none is empty.
pub fn list_at<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value
        .pointer(pointer)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// Whether a field is there.
pub fn has(value: &Value, field: &str) -> bool {
    value.get(field).is_some_and(|field| !field.is_null())
}

/// A word from outside, fit for our own sentence.
pub fn word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.chars()
        .take(MAX_WORD)
        .map(|c| if plain(c) { c } else { '?' })
        .collect()
}
