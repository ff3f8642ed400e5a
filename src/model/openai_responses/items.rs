//! Output items of the Responses API: what is in them, and whether a call in one is whole. Pure.

use serde_json::{Map, Value};

use crate::model::failure::excerpt;
use crate::model::request::MalformedArgs;
use crate::model::surrogates;

/// Most bytes of one call's arguments.
pub const MAX_ARGS_BYTES: usize = 1024 * 1024;

/// One output item of an answer under way.
#[derive(Debug, Default)]
pub struct Item {
    /// As the server said it, so far.
    pub raw: Value,
    /// Its closing form came.
    pub closed: bool,
    /// Visible text sent on so far.
    pub shown: String,
    /// Arguments as streamed; they count only where the closed item holds none.
    pub args: String,
    /// The streamed arguments are beyond the cap.
    pub too_large: bool,
}

/// How the answer ended.
#[derive(Debug, PartialEq, Eq)]
pub enum End {
    /// By itself.
    Completed,
    /// For this reason of the server's.
    Incomplete(String),
}

/// The text of a field; empty where there is none.
pub fn word<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or("")
}

/// Whether an item is of this type.
pub fn is_kind(item: &Value, kind: &str) -> bool {
    word(item, "type") == kind
}

/// Whether a reasoning item can be sent back: the server keeps nothing, so it must hold its own content.
pub fn has_content(reasoning: &Value) -> bool {
    !word(reasoning, "encrypted_content").is_empty()
}

/// The visible text of a message item, and whether a refusal is in it.
pub fn text_of(message: &Value) -> (String, bool) {
    let mut text = String::new();
    let mut refused = false;
    match message.get("content") {
        Some(Value::String(whole)) => text.push_str(whole),
        Some(Value::Array(parts)) => {
            for part in parts {
                if is_kind(part, "refusal") {
                    refused = true;
                    text.push_str(word(part, "refusal"));
                } else {
                    text.push_str(word(part, "text"));
                }
            }
        }
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => {}
    }
    (text, refused)
}

/// Whether an item has this id.
pub fn has_id(item: &Value, id: &str) -> bool {
    !id.is_empty() && word(item, "id") == id
}

/// Whether an item holds fields beside the known ones.
pub fn has_more_than(item: &Value, known: &[&str]) -> bool {
    item.as_object().is_some_and(|fields| {
        fields
            .iter()
            .any(|(name, value)| !value.is_null() && !known.contains(&name.as_str()))
    })
}

/// The arguments as text: of the closed item, else as they were streamed.
pub fn arguments_of(item: &Item) -> std::borrow::Cow<'_, str> {
    match item.raw.get("arguments") {
        Some(Value::String(text)) if !text.is_empty() => text.into(),
        Some(object @ Value::Object(_)) => object.to_string().into(),
        Some(_) | None => item.args.as_str().into(),
    }
}

/// The arguments of a call; an error where they are not whole: then it never runs.
pub fn read_args(item: &Item, end: &End) -> Result<Value, MalformedArgs> {
    let text = arguments_of(item);
    let malformed = |error: String| MalformedArgs {
        raw: excerpt(&text),
        error,
    };
    if !item.closed || matches!(word(&item.raw, "status"), "incomplete" | "in_progress") {
        return Err(malformed(match end {
            End::Incomplete(_) => {
                "the answer reached its length limit inside the arguments".to_owned()
            }
            End::Completed => "the answer ended inside the arguments".to_owned(),
        }));
    }
    if item.too_large || text.len() > MAX_ARGS_BYTES {
        return Err(malformed(format!(
            "the arguments are larger than {} KiB",
            MAX_ARGS_BYTES / 1024
        )));
    }
    match text.trim() {
        "" | "null" => Ok(Value::Object(Map::new())),
        text => match surrogates::parse(text) {
            Ok(object @ Value::Object(_)) => Ok(object),
            Ok(_) => Err(malformed("the arguments are not a JSON object".to_owned())),
            Err(error) => Err(malformed(format!(
                "the arguments are not complete JSON ({error})"
            ))),
        },
    }
}
