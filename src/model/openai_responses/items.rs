//! Output items of the Responses API: what is in them, and whether a call in one is whole. Pure.

use serde_json::Value;

use crate::model::decode::{StreamedArgs, is_kind, malformed, no_args, parse_args, word};
use crate::model::request::MalformedArgs;

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
    pub args: StreamedArgs,
}

/// How the answer ended.
#[derive(Debug, PartialEq, Eq)]
pub enum End {
    /// By itself.
    Completed,
    /// For this reason of the server's.
    Incomplete(String),
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
        Some(_) | None => item.args.text().into(),
    }
}

/// The arguments of a call; an error where they are not whole: then it never runs.
pub fn read_args(item: &Item, end: &End) -> Result<Value, MalformedArgs> {
    let text = arguments_of(item);
    if !item.closed || matches!(word(&item.raw, "status"), "incomplete" | "in_progress") {
        let error = match end {
            End::Incomplete(_) => "the answer reached its length limit inside the arguments",
            End::Completed => "the answer ended inside the arguments",
        };
        return Err(malformed(&text, error));
    }
    if let Some(oversize) = item.args.oversize() {
        return Err(oversize);
    }
    match text.trim() {
        "" | "null" => no_args(&text, false),
        _ => parse_args(&text, false),
    }
}
