//! What a model reads of the result of a call. Pure.
//!
//! Nothing that a result names is fetched, and nothing of it is an instruction to us.

use std::fmt::Write as _;

use serde_json::Value;

/// A result, read.
#[derive(Debug, Clone, PartialEq)]
pub struct CallResult {
    /// What it says.
    pub text: String,
    /// Whether the tool says that it failed.
    pub is_error: bool,
    /// Its structured part, where it fits the schema that the tool declares, or where it declares none.
    pub structured: Option<Value>,
}

/// Reads a result as it came; `output_schema` is what the tool declares.
pub fn read(result: &Value, output_schema: Option<&Value>) -> CallResult {
    let mut texts: Vec<String> = Vec::new();
    let mut plain: Vec<&str> = Vec::new();
    let content = result.get("content").and_then(Value::as_array);
    for block in content.into_iter().flatten() {
        if let (Some("text"), Some(text)) = (kind(block), string(block, "text")) {
            plain.push(text);
            texts.push(text.to_owned());
        } else {
            texts.push(described(block));
        }
    }
    let is_error = result.get("isError") == Some(&Value::Bool(true));
    let mut structured = result.get("structuredContent").cloned();
    let mut note = None;
    // What failed need not have the shape of what succeeds.
    if let (Some(value), Some(schema), false) = (&structured, output_schema, is_error)
        && let Err(why) = fits(value, schema)
    {
        note = Some(format!(
            "[the structured result does not fit the schema that the tool declares, and is left out: {why}]"
        ));
        structured = None;
    }
    if let Some(value) = &structured {
        let is_said = plain
            .iter()
            .any(|text| serde_json::from_str::<Value>(text).is_ok_and(|said| said == *value));
        if !is_said {
            texts.push(serde_json::to_string_pretty(value).unwrap_or_default());
        }
    }
    texts.extend(note);
    CallResult {
        text: texts.join("\n"),
        is_error,
        structured,
    }
}

fn fits(value: &Value, schema: &Value) -> Result<(), String> {
    let validator =
        jsonschema::validator_for(schema).map_err(|error| error.masked().to_string())?;
    validator.validate(value).map_err(|error| {
        let place = error.instance_path().to_string();
        format!("{place} {}", error.masked()).trim().to_owned()
    })
}

/// The text of the contents of a resource.
pub(super) fn contents(result: &Value) -> String {
    let contents = result.get("contents").and_then(Value::as_array);
    let texts = contents.into_iter().flatten().map(resource);
    texts.collect::<Vec<_>>().join("\n")
}

/// The text of the messages of a prompt.
pub(super) fn messages(result: &Value) -> String {
    let mut text = String::new();
    let messages = result.get("messages").and_then(Value::as_array);
    for message in messages.into_iter().flatten() {
        let role = string(message, "role").unwrap_or("user");
        let content = message.get("content").unwrap_or(&Value::Null);
        let said = match (kind(content), string(content, "text")) {
            (Some("text"), Some(said)) => said.to_owned(),
            _ => described(content),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{role}: {said}");
    }
    text
}

fn kind(block: &Value) -> Option<&str> {
    string(block, "type")
}

fn string<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key).and_then(Value::as_str)
}

/// A block that is no text, in words.
fn described(block: &Value) -> String {
    match kind(block) {
        Some(kind @ ("image" | "audio")) => {
            let media_type = string(block, "mimeType").unwrap_or("of no media type");
            let bytes = decoded(string(block, "data").unwrap_or_default());
            format!("[{kind}, {media_type}, {bytes} bytes: not shown]")
        }
        Some("resource") => resource(block.get("resource").unwrap_or(&Value::Null)),
        Some("resource_link") => {
            let name = string(block, "title").or_else(|| string(block, "name"));
            format!(
                "[link to {} ({}): not fetched]",
                string(block, "uri").unwrap_or("nothing"),
                name.unwrap_or("no name"),
            )
        }
        Some(other) => format!("[content of the kind `{other}`, which is not known here]"),
        None => "[content of no kind]".to_owned(),
    }
}

fn resource(resource: &Value) -> String {
    let uri = string(resource, "uri").unwrap_or("no address");
    let media_type = string(resource, "mimeType");
    let media_type = media_type.map_or_else(String::new, |media_type| format!(", {media_type}"));
    match (string(resource, "text"), string(resource, "blob")) {
        (Some(text), _) => format!("[resource {uri}{media_type}]\n{text}"),
        (None, Some(blob)) => {
            format!(
                "[resource {uri}{media_type}, {} bytes: not shown]",
                decoded(blob)
            )
        }
        (None, None) => format!("[resource {uri}{media_type}, without content]"),
    }
}

/// Bytes behind a text in base64.
fn decoded(base64: &str) -> usize {
    base64.trim_end_matches('=').len() * 3 / 4
}
