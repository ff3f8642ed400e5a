//! Ids and numbers in what Discord sends.

use serde_json::Value;

use crate::channels::fields::text_at;

/// An id: digits in text, as Discord sends them, and never zero.
pub fn id(value: &Value, pointer: &str) -> Option<u64> {
    text_at(value, pointer)?.parse().ok().filter(|id| *id > 0)
}

/// A whole number in a value.
pub fn int(value: &Value, pointer: &str) -> Option<u64> {
    value.pointer(pointer).and_then(Value::as_u64)
}
