//! The request body of Chat Completions. Pure and deterministic: equal requests give equal bytes.

use serde_json::{Value, json};

use crate::model::failure;
use crate::model::openai_chat::decoder::{FAMILY, HOST, REASONING_DETAILS};
use crate::model::parameters::Support;
use crate::model::request::{AssistantToolCall, ModelMessage, ModelRequest};
use crate::protocol::options::ToolChoice;
use crate::protocol::session::NativeBlocks;

/// Which optional parameters a model is known to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameters {
    /// Send `stream_options.include_usage`.
    pub stream_options: bool,
    /// Send `max_completion_tokens` in place of `max_tokens`.
    pub max_completion_tokens: bool,
    /// Send `parallel_tool_calls` when one call per answer is wanted.
    pub parallel_tool_calls: bool,
    /// Send `reasoning_effort` where the profile names one.
    pub reasoning_effort: bool,
    /// Say `developer` in place of `system`.
    pub developer_role: bool,
    /// Which sampling parameters and choices of a tool it takes.
    pub support: Support,
}

impl Default for Parameters {
    /// What most compatible servers take.
    fn default() -> Self {
        Self {
            stream_options: true,
            max_completion_tokens: false,
            parallel_tool_calls: true,
            reasoning_effort: true,
            developer_role: false,
            support: Support::default(),
        }
    }
}

impl Parameters {
    /// What to send after a 400 with `words` (lower case) to `body`, made of `request`; none when it names nothing that could be changed.
    pub fn without_refused(
        self,
        request: &ModelRequest,
        body: &Value,
        words: &str,
    ) -> Option<Self> {
        if let Some(support) = self.support.without_refused(request, words) {
            return Some(Self { support, ..self });
        }
        let refused = failure::refuses_parameter(words);
        let sent = |name: &str| body.get(name).is_some();
        let mut fewer = self;
        if sent("stream_options") && words.contains("stream_options") {
            fewer.stream_options = false;
        } else if sent("max_tokens")
            && words.contains("max_tokens")
            && (words.contains("max_completion_tokens") || refused)
        {
            fewer.max_completion_tokens = true;
        } else if sent("parallel_tool_calls") && words.contains("parallel_tool_calls") {
            fewer.parallel_tool_calls = false;
        } else if sent("reasoning_effort")
            && (words.contains("reasoning_effort") || words.contains("reasoning.effort"))
        {
            fewer.reasoning_effort = false;
        } else if !self.developer_role
            && refused
            && words.contains("role")
            && ["'system'", "`system`", "\"system\""]
                .iter()
                .any(|word| words.contains(word))
        {
            fewer.developer_role = true;
        }
        (fewer != self).then_some(fewer)
    }
}

/// The body of one request to `host`.
pub fn body(request: &ModelRequest, parameters: Parameters, host: &str) -> Value {
    let mut messages: Vec<Value> = Vec::new();
    if !request.system.is_empty() {
        let role = if parameters.developer_role {
            "developer"
        } else {
            "system"
        };
        messages.push(json!({"role": role, "content": request.system}));
    }
    for message in &request.messages {
        match message {
            ModelMessage::User { text, pictures } => {
                let mut parts: Vec<Value> = parameters
                    .support
                    .shown(pictures)
                    .map(|picture| json!({"type": "image_url", "image_url": {"url": picture.data_url()}}))
                    .collect();
                // Many servers take a string alone.
                let content = if parts.is_empty() {
                    json!(text)
                } else {
                    parts.insert(0, json!({"type": "text", "text": text}));
                    Value::Array(parts)
                };
                messages.push(json!({"role": "user", "content": content}));
            }
            ModelMessage::Assistant {
                text,
                tool_calls,
                native,
            } => {
                let mut message = assistant(text, tool_calls);
                if let Some(details) = native.as_ref().and_then(|native| details(native, host)) {
                    message[REASONING_DETAILS] = details.clone();
                }
                messages.push(message);
            }
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
    let mut body = json!({});
    body["model"] = json!(request.model);
    body["messages"] = Value::Array(messages);
    // An empty list is refused by several servers.
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            json!({"type": "function", "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.input_schema,
            }})
        });
        body["tools"] = tools.collect();
        if request.one_tool_per_step && parameters.parallel_tool_calls {
            body["parallel_tool_calls"] = json!(false);
        }
    }
    body[limit] = json!(request.max_output_tokens);
    if let Some(effort) = &request.profile.effort
        && parameters.reasoning_effort
    {
        body["reasoning_effort"] = json!(effort);
    }
    parameters.support.put_sampling(request, "top_p", &mut body);
    if let Some(choice) = parameters.support.sent(request).tool_choice {
        let choice = match choice {
            ToolChoice::Tool(name) => json!({"type": "function", "function": {"name": name}}),
            word @ (ToolChoice::Auto | ToolChoice::None | ToolChoice::Required) => json!(word),
        };
        body["tool_choice"] = choice;
    }
    body["stream"] = json!(true);
    if parameters.stream_options {
        body["stream_options"] = json!({"include_usage": true});
    }
    body
}

/// The reasoning of an earlier answer, for the host that wrote it. Other families' blocks mean nothing here, and another
/// server would refuse them.
fn details<'a>(native: &'a NativeBlocks, host: &str) -> Option<&'a Value> {
    let from = native.content.get(HOST).and_then(Value::as_str);
    (native.family == FAMILY && from == Some(host))
        .then(|| native.content.get(REASONING_DETAILS))
        .flatten()
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
