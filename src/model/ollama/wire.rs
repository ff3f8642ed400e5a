//! The request body of Ollama's `/api/chat`. Pure and deterministic: equal requests give equal bytes.
//!
//! The wire has no call ids: results follow their calls in call order and name their tool.

use serde_json::{Map, Value, json};

use crate::model::ollama::decoder::FAMILY;
use crate::model::parameters::Support;
use crate::model::request::{AssistantToolCall, ModelMessage, ModelRequest};
use crate::protocol::session::NativeBlocks;

/// What the model is known to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameters {
    /// Send `tools`.
    pub tools: bool,
    /// Send `think` to a model that reasons.
    pub think: bool,
    /// Which sampling parameters and choices of a tool it takes.
    pub support: Support,
}

impl Default for Parameters {
    /// A model that takes everything.
    fn default() -> Self {
        Self {
            tools: true,
            think: true,
            // The interface has no field for it.
            support: Support {
                tool_choice: false,
                ..Support::default()
            },
        }
    }
}

impl Parameters {
    /// What to send after a 400 to `request` with `words`, lower case; none when they name nothing that could be left out.
    pub fn without_refused(self, request: &ModelRequest, words: &str) -> Option<Self> {
        if let Some(support) = self.support.without_refused(request, words) {
            return Some(Self { support, ..self });
        }
        let mut fewer = self;
        if words.contains("does not support tools") {
            fewer.tools = false;
        } else if words.contains("does not support thinking") || words.contains("think value") {
            fewer.think = false;
        }
        (fewer != self).then_some(fewer)
    }
}

/// The body of one request.
pub fn body(request: &ModelRequest, parameters: Parameters) -> Value {
    let mut messages: Vec<Value> = Vec::new();
    if !request.system.is_empty() {
        messages.push(json!({"role": "system", "content": request.system}));
    }
    for message in &request.messages {
        match message {
            ModelMessage::User { text, pictures } => {
                let mut message = json!({"role": "user", "content": text});
                let images: Vec<Value> = parameters
                    .support
                    .shown(pictures)
                    .map(|picture| json!(&*picture.data))
                    .collect();
                if !images.is_empty() {
                    message["images"] = Value::Array(images);
                }
                messages.push(message);
            }
            ModelMessage::Assistant {
                text,
                tool_calls,
                native,
            } => messages.push(assistant(text, tool_calls, native.as_ref())),
            ModelMessage::ToolResults { results } => {
                messages.extend(results.iter().map(|result| {
                    json!({
                        "role": "tool",
                        "tool_name": result.name,
                        "content": result.content,
                    })
                }));
            }
        }
    }
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(request.model));
    body.insert("messages".to_owned(), Value::Array(messages));
    if parameters.tools && !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            json!({"type": "function", "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.input_schema,
            }})
        });
        body.insert("tools".to_owned(), tools.collect());
    }
    if parameters.think && request.profile.reasoning {
        let think = match &request.profile.effort {
            Some(effort) => json!(effort),
            None => json!(true),
        };
        body.insert("think".to_owned(), think);
    }
    body.insert("stream".to_owned(), json!(true));
    // Without num_ctx the server takes a small window of its own and cuts what does not fit, silently.
    let mut options = Map::new();
    options.insert("num_ctx".to_owned(), json!(request.profile.context_window));
    options.insert("num_predict".to_owned(), json!(request.max_output_tokens));
    let sent = parameters.support.sent(request);
    if let Some(temperature) = sent.temperature {
        options.insert("temperature".to_owned(), json!(temperature));
    }
    if let Some(top_p) = sent.top_p {
        options.insert("top_p".to_owned(), json!(top_p));
    }
    body.insert("options".to_owned(), Value::Object(options));
    Value::Object(body)
}

fn assistant(text: &str, calls: &[AssistantToolCall], native: Option<&NativeBlocks>) -> Value {
    let mut message = Map::new();
    message.insert("role".to_owned(), json!("assistant"));
    message.insert("content".to_owned(), json!(text));
    let thinking = native
        .filter(|native| native.family == FAMILY)
        .and_then(|native| native.content.get("thinking"));
    if let Some(thinking) = thinking {
        message.insert("thinking".to_owned(), thinking.clone());
    }
    if !calls.is_empty() {
        let calls = calls
            .iter()
            .map(|call| json!({"function": {"name": call.name, "arguments": call.args}}));
        message.insert("tool_calls".to_owned(), calls.collect());
    }
    Value::Object(message)
}
