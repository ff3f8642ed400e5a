//! JSON schemas of types that are text on the wire, and the rule for omitted fields. Other schemas are derived.

use schemars::{Schema, json_schema};

/// A text with a pattern (ECMA 262, as JSON Schema has it).
pub(crate) fn text(about: &str, pattern: &str) -> Schema {
    json_schema!({ "type": "string", "pattern": pattern, "description": about.trim() })
}

/// A closed vocabulary: each word with its meaning.
pub(crate) fn vocabulary(about: &str, words: &[(&str, &str)]) -> Schema {
    let mut description = about.trim().to_owned();
    for (word, meaning) in words {
        let meaning = meaning.split_whitespace().collect::<Vec<_>>().join(" ");
        description.push_str(&format!("\n- `{word}`: {meaning}"));
    }
    let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
    json_schema!({ "type": "string", "enum": words, "description": description })
}

/// Whether a field has its default value, so that it can be omitted.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
