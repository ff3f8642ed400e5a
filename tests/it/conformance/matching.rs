//! The small language of expectations: JSON that says what must be, may be and must not be.
//!
//! A value is expected as it stands. Of an object only the named fields are looked at. `"<any>"` is any value,
//! `"<absent>"` a field that is not there. `{"<has>": ["a"], "<not>": ["b"]}` is a text with and without these words.
//! A list has the given length, unless its last element is `"<more>"`. `{"<only>": {…}}` is an object with just these
//! fields.

use serde_json::Value;

/// What of `found` is not as `expected`, with the path to it; nothing when all is.
pub fn mismatches(expected: &Value, found: Option<&Value>, path: &str) -> Vec<String> {
    let Some(found) = found else {
        return match expected {
            Value::String(word) if word == "<absent>" => Vec::new(),
            _ => vec![format!("{path}: expected {expected}, found nothing")],
        };
    };
    match expected {
        Value::String(word) if word == "<any>" => Vec::new(),
        Value::String(word) if word == "<absent>" => {
            vec![format!("{path}: expected nothing, found {found}")]
        }
        Value::Object(fields) if fields.contains_key("<has>") || fields.contains_key("<not>") => {
            words(expected, found, path)
        }
        Value::Object(fields) if fields.contains_key("<only>") => {
            let expected = &fields["<only>"];
            let mut wrong = mismatches(expected, Some(found), path);
            let extra = found
                .as_object()
                .into_iter()
                .flat_map(serde_json::Map::keys)
                .filter(|name| expected.get(name.as_str()).is_none());
            wrong.extend(extra.map(|name| format!("{path}/{name}: expected nothing")));
            wrong
        }
        Value::Object(fields) if found.is_object() => fields
            .iter()
            .flat_map(|(name, inner)| mismatches(inner, found.get(name), &format!("{path}/{name}")))
            .collect(),
        Value::Array(items) if found.is_array() => {
            let found = found.as_array().expect("a list");
            let more = items.last().is_some_and(|last| last == "<more>");
            let named = items.len() - usize::from(more);
            if found.len() < named || (!more && found.len() > named) {
                return vec![format!(
                    "{path}: expected {named} elements, found {}: {}",
                    found.len(),
                    Value::Array(found.clone())
                )];
            }
            items[..named]
                .iter()
                .zip(found)
                .enumerate()
                .flat_map(|(at, (inner, found))| {
                    mismatches(inner, Some(found), &format!("{path}/{at}"))
                })
                .collect()
        }
        _ if expected == found => Vec::new(),
        _ => vec![format!("{path}: expected {expected}, found {found}")],
    }
}

fn words(expected: &Value, found: &Value, path: &str) -> Vec<String> {
    let text = match found {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let list = |name: &str| {
        let words = expected.get(name).and_then(Value::as_array);
        words
            .into_iter()
            .flatten()
            .map(|word| word.as_str().expect("a word").to_owned())
            .collect::<Vec<_>>()
    };
    let missing = list("<has>")
        .into_iter()
        .filter(|word| !text.contains(word.as_str()))
        .map(|word| format!("{path}: {word:?} is missing in {text:?}"));
    let unwanted = list("<not>")
        .into_iter()
        .filter(|word| text.contains(word.as_str()))
        .map(|word| format!("{path}: {word:?} is in {text:?}"));
    missing.chain(unwanted).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn fits(expected: Value, found: &Value) -> bool {
        mismatches(&expected, Some(found), "").is_empty()
    }

    #[test]
    fn the_language_says_no_where_it_should() {
        let found = json!({"a": 1, "b": ["x", {"c": null}], "t": "some words"});
        for (expected, fit) in [
            (json!({"a": 1}), true),
            (json!({"a": 2}), false),
            (json!({"a": "<any>", "z": "<absent>"}), true),
            (json!({"a": "<absent>"}), false),
            (json!({"z": "<any>"}), false),
            (json!({"b": ["x", {"c": null}]}), true),
            (json!({"b": ["x"]}), false),
            (json!({"b": ["x", "<more>"]}), true),
            (json!({"b": ["x", {}, {}, "<more>"]}), false),
            (
                json!({"t": {"<has>": ["some", "words"], "<not>": ["other"]}}),
                true,
            ),
            (json!({"t": {"<has>": ["other"]}}), false),
            (json!({"t": {"<not>": ["words"]}}), false),
            (
                json!({"<only>": {"a": 1, "b": "<any>", "t": "<any>"}}),
                true,
            ),
            (json!({"<only>": {"a": 1}}), false),
            (json!({"a": {}}), false),
            (json!([]), false),
        ] {
            assert_eq!(fits(expected.clone(), &found), fit, "{expected}");
        }
    }
}
