//! The request body of the Messages API. Pure and deterministic: equal requests give equal bytes.
//!
//! Never more than three cache breakpoints (tools, system, last message; the API allows four), and
//! never text beside or before tool results.

use serde_json::{Map, Value, json};

use crate::model::anthropic::decoder::{FAMILY, is_kind};
use crate::model::request::{AssistantToolCall, ModelMessage, ModelRequest, legal_word as legal};
use crate::protocol::session::NativeBlocks;

/// The body of one request.
pub fn body(request: &ModelRequest) -> Value {
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(request.model));
    body.insert("max_tokens".to_owned(), json!(request.max_output_tokens));
    body.insert("stream".to_owned(), json!(true));
    if !request.tools.is_empty() {
        let mut tools: Vec<Value> = request
            .tools
            .iter()
            .map(|tool| {
                json!({
                    "name": tool.name,
                    "description": tool.description,
                    "input_schema": tool.input_schema,
                })
            })
            .collect();
        mark_last(&mut tools);
        body.insert("tools".to_owned(), Value::Array(tools));
        if request.one_tool_per_step {
            body.insert(
                "tool_choice".to_owned(),
                json!({"type": "auto", "disable_parallel_tool_use": true}),
            );
        }
    }
    if !request.system.is_empty() {
        let mut system = vec![json!({"type": "text", "text": request.system})];
        mark_last(&mut system);
        body.insert("system".to_owned(), Value::Array(system));
    }
    body.insert("messages".to_owned(), messages(&request.messages));
    Value::Object(body)
}

fn messages(history: &[ModelMessage]) -> Value {
    let mut messages: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in history {
        let (role, content) = match message {
            ModelMessage::User { text } => ("user", vec![user_text(text)]),
            ModelMessage::Assistant {
                text,
                tool_calls,
                native,
            } => ("assistant", assistant(text, tool_calls, native.as_ref())),
            ModelMessage::ToolResults { results } => (
                "user",
                results
                    .iter()
                    .map(|result| {
                        json!({
                            "type": "tool_result",
                            "tool_use_id": legal(&result.provider_call_id),
                            "content": result.content,
                            "is_error": result.is_error,
                        })
                    })
                    .collect(),
            ),
        };
        if !content.is_empty() {
            messages.push((role, content));
        }
    }
    if let Some((_, content)) = messages.last_mut() {
        mark_last(content);
    }
    messages
        .into_iter()
        .map(|(role, content)| json!({"role": role, "content": content}))
        .collect()
}

/// The API refuses empty text blocks.
fn user_text(text: &str) -> Value {
    if text.trim().is_empty() {
        json!({"type": "text", "text": "(empty message)"})
    } else {
        json!({"type": "text", "text": text})
    }
}

fn assistant(
    text: &str,
    tool_calls: &[AssistantToolCall],
    native: Option<&NativeBlocks>,
) -> Vec<Value> {
    if let Some(blocks) = native.and_then(|native| replayed(native, tool_calls)) {
        return blocks;
    }
    let mut content = Vec::new();
    if !text.trim().is_empty() {
        content.push(json!({"type": "text", "text": text}));
    }
    content.extend(tool_calls.iter().map(|call| {
        json!({
            "type": "tool_use",
            "id": legal(&call.provider_call_id),
            "name": legal(&call.name),
            "input": call.args,
        })
    }));
    content
}

/// The blocks as they came, or none when they are another family's or do not hold every call that the
/// history answers. Thinking is never edited: a changed signature is refused, a dropped call is not.
fn replayed(native: &NativeBlocks, tool_calls: &[AssistantToolCall]) -> Option<Vec<Value>> {
    if native.family != FAMILY {
        return None;
    }
    let id_of = |block: &Value| block.get("id").and_then(Value::as_str).map(str::to_owned);
    let mut found = 0;
    let mut content = Vec::new();
    for block in native.content.as_array()? {
        if is_kind(block, "tool_use") {
            let id = id_of(block)?;
            // A call that was not taken up has no result, and may not be sent without one.
            if !tool_calls.iter().any(|call| call.provider_call_id == id) {
                continue;
            }
            found += 1;
            let mut block = block.clone();
            if let Some(object) = block.as_object_mut() {
                object.insert("id".to_owned(), json!(legal(&id)));
                let name = object.get("name").and_then(Value::as_str).unwrap_or("");
                let name = legal(name);
                object.insert("name".to_owned(), json!(name));
            }
            content.push(block);
        } else if is_kind(block, "text")
            && block
                .get("text")
                .and_then(Value::as_str)
                .is_none_or(|text| text.trim().is_empty())
        {
            // The API sends empty text blocks and refuses them.
        } else {
            content.push(block.clone());
        }
    }
    (found == tool_calls.len()).then_some(content)
}

fn mark_last(blocks: &mut [Value]) {
    if let Some(object) = blocks.last_mut().and_then(Value::as_object_mut) {
        object.insert("cache_control".to_owned(), json!({"type": "ephemeral"}));
    }
}
