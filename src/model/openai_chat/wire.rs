//! The request body of Chat Completions. Pure and deterministic: equal requests give equal bytes.

use serde_json::{Map, Value, json};

use crate::model::request::{AssistantToolCall, ModelMessage, ModelRequest};

/// Which optional parameters the server is known to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameters {
    /// Send `stream_options.include_usage`.
    pub stream_options: bool,
    /// Send `max_completion_tokens` in place of `max_tokens`.
    pub max_completion_tokens: bool,
    /// Send `parallel_tool_calls` when one call per answer is wanted.
    pub parallel_tool_calls: bool,
}

/// The body of one request.
pub fn body(request: &ModelRequest, parameters: Parameters) -> Value {
    let mut messages: Vec<Value> = Vec::new();
    if !request.system.is_empty() {
        messages.push(json!({"role": "system", "content": request.system}));
    }
    for message in &request.messages {
        match message {
            ModelMessage::User { text } => messages.push(json!({"role": "user", "content": text})),
            // Other families' native blocks mean nothing here.
            ModelMessage::Assistant {
                text, tool_calls, ..
            } => messages.push(assistant(text, tool_calls)),
            ModelMessage::ToolResults { results } => {
                messages.extend(results.iter().map(|result| {
                    json!({
                        "role": "tool",
                        "tool_call_id": result.provider_call_id,
                        "content": result.content,
                    })
                }));
            }
        }
    }
    let limit = if parameters.max_completion_tokens {
        "max_completion_tokens"
    } else {
        "max_tokens"
    };
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(request.model));
    body.insert("messages".to_owned(), Value::Array(messages));
    // An empty list is refused by several servers.
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            json!({"type": "function", "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.input_schema,
            }})
        });
        body.insert("tools".to_owned(), tools.collect());
        if request.one_tool_per_step && parameters.parallel_tool_calls {
            body.insert("parallel_tool_calls".to_owned(), json!(false));
        }
    }
    body.insert(limit.to_owned(), json!(request.max_output_tokens));
    body.insert("stream".to_owned(), json!(true));
    if parameters.stream_options {
        body.insert("stream_options".to_owned(), json!({"include_usage": true}));
    }
    Value::Object(body)
}

fn assistant(text: &str, tool_calls: &[AssistantToolCall]) -> Value {
    if tool_calls.is_empty() {
        return json!({"role": "assistant", "content": text});
    }
    // Content stays a string beside calls: some servers refuse null there.
    let calls: Vec<Value> = tool_calls
        .iter()
        .map(|call| {
            json!({
                "id": call.provider_call_id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.args.to_string()},
            })
        })
        .collect();
    json!({"role": "assistant", "content": text, "tool_calls": calls})
}
