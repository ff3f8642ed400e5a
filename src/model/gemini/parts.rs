//! Parts of an answer of `generateContent`, the calls in them, and the reasons for which an answer ends. Pure.
//!
//! A call whose arguments are not whole never runs, and goes back without them.

use serde_json::{Value, json};

use crate::model::decode::{add_call, malformed, no_args, no_object, word};
use crate::model::request::{MalformedArgs, ModelErrorKind, ModelToolCall};

/// The reason of an end for which the next request must mark its unsigned calls.
pub const MISSING_SIGNATURE: &str = "MISSING_THOUGHT_SIGNATURE";
/// The field of a part's signature.
pub const SIGNATURE: &str = "thoughtSignature";

/// A part of an answer.
#[derive(Debug)]
pub struct Part {
    /// As the server said it.
    pub raw: Value,
    /// The number of the chunk that it came in.
    pub chunk: usize,
}

impl Part {
    /// Whether it carries a signature.
    pub fn is_signed(&self) -> bool {
        self.raw.get(SIGNATURE).is_some()
    }
}

/// Whether a part is a thought, which nobody is shown.
pub fn is_thought(part: &Value) -> bool {
    part.get("thought").and_then(Value::as_bool) == Some(true)
}

/// Whether a filter ended the answer.
pub fn is_refusal(reason: &str) -> bool {
    matches!(
        reason,
        "SAFETY"
            | "RECITATION"
            | "LANGUAGE"
            | "BLOCKLIST"
            | "PROHIBITED_CONTENT"
            | "SPII"
            | "IMAGE_SAFETY"
            | "IMAGE_PROHIBITED_CONTENT"
            | "IMAGE_RECITATION"
            | "MODEL_ARMOR"
    )
}

/// Why an answer that ended for `reason` is none.
pub fn useless(reason: &str, nothing_said: bool) -> Option<(ModelErrorKind, &'static str)> {
    match reason {
        "MALFORMED_FUNCTION_CALL" => Some((
            ModelErrorKind::Unusable,
            "a tool call that could not be read",
        )),
        MISSING_SIGNATURE => Some((
            ModelErrorKind::Unusable,
            "because an earlier call came back without its signature",
        )),
        "UNEXPECTED_TOOL_CALL" => Some((
            ModelErrorKind::InvalidRequest,
            "a call although no tool was offered",
        )),
        "TOO_MANY_TOOL_CALLS" => Some((
            ModelErrorKind::InvalidRequest,
            "too many tool calls in a row",
        )),
        "OTHER" | "MALFORMED_RESPONSE" if nothing_said => {
            Some((ModelErrorKind::Unusable, "and nothing before it"))
        }
        _ => None,
    }
}

/// Whether the neutral form of an answer would lose this part.
pub fn must_be_replayed(part: &Value) -> bool {
    let call = part.get("functionCall");
    part.get(SIGNATURE).is_some()
        || call.is_some_and(|call| call.get("id").is_some())
        || (call.is_none() && part.get("text").is_none())
}

/// The parts as they can go back, and the calls in them.
pub fn calls(parts: Vec<Part>, cut_off: bool, first_id: usize) -> (Vec<Value>, Vec<ModelToolCall>) {
    let mut raw_parts = Vec::new();
    let mut tool_calls: Vec<ModelToolCall> = Vec::new();
    let last = parts.len().saturating_sub(1);
    for (position, part) in parts.into_iter().enumerate() {
        let mut raw = part.raw;
        if let Some(call) = raw.get_mut("functionCall") {
            let args = read_args(call, cut_off && position == last);
            let usable = args.is_ok();
            let local = first_id + tool_calls.len();
            add_call(
                &mut tool_calls,
                word(call, "id"),
                local,
                word(call, "name"),
                args,
            );
            if !usable && let Some(object) = call.as_object_mut() {
                object.insert("args".to_owned(), json!({}));
            }
        }
        raw_parts.push(raw);
    }
    (raw_parts, tool_calls)
}

fn read_args(call: &Value, may_be_cut_off: bool) -> Result<Value, MalformedArgs> {
    let args = call.get("args").filter(|args| !args.is_null());
    let raw = || args.map(Value::to_string).unwrap_or_default();
    // Arguments in pieces are never asked for; a call of them alone is not whole.
    if call.get("partialArgs").is_some()
        || call.get("willContinue").and_then(Value::as_bool) == Some(true)
    {
        return Err(malformed(&raw(), "the arguments are not complete"));
    }
    match args {
        Some(object @ Value::Object(fields)) if !fields.is_empty() => Ok(object.clone()),
        Some(Value::Object(_)) | None => no_args(&raw(), may_be_cut_off),
        Some(_) => Err(no_object(&raw())),
    }
}
