//! The request body of Ollama's `/api/chat`. Pure and deterministic: equal requests give equal bytes.
//!
//! The wire has no call ids: results follow their calls in call order and name their tool.

use serde_json::{Value, json};

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
    let mut body = json!({});
    body["model"] = json!(request.model);
    body["messages"] = Value::Array(messages);
    if parameters.tools && !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            json!({"type": "function", "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.input_schema,
            }})
        });
        body["tools"] = tools.collect();
    }
    if parameters.think && request.profile.reasoning {
        let think = match &request.profile.effort {
            Some(effort) => json!(effort),
            None => json!(true),
        };
        body["think"] = think;
    }
    body["stream"] = json!(true);
    // Without num_ctx the server takes a small window of its own and cuts what does not fit, silently.
    let mut options = json!({});
    options["num_ctx"] = json!(request.profile.context_window);
    options["num_predict"] = json!(request.max_output_tokens);
    parameters
        .support
        .put_sampling(request, "top_p", &mut options);
    body["options"] = options;
    body
}

fn assistant(text: &str, calls: &[AssistantToolCall], native: Option<&NativeBlocks>) -> Value {
    let mut message = json!({});
    message["role"] = json!("assistant");
    message["content"] = json!(text);
    let thinking = native
        .filter(|native| native.family == FAMILY)
        .and_then(|native| native.content.get("thinking"));
    if let Some(thinking) = thinking {
        message["thinking"] = thinking.clone();
    }
    if !calls.is_empty() {
        let calls = calls
            .iter()
            .map(|call| json!({"function": {"name": call.name, "arguments": call.args}}));
        message["tool_calls"] = calls.collect();
    }
    message
}
