//! The request body of the Messages API. Pure and deterministic: equal requests give equal bytes.
//!
//! Never more than four cache breakpoints, always at the same places: the end of the tools, of the system text, of the
//! finished history, and of the newest message. What stands before a place is the same in the next request, so a mark
//! that moves on leaves a prefix that is found again. Never text beside or before tool results.

use serde_json::{Value, json};

use crate::config::model_tables::PromptCache;
use crate::model::anthropic::decoder::FAMILY;
use crate::model::decode::is_kind;
use crate::model::parameters::Support;
use crate::model::request::{
    AssistantToolCall, ModelMessage, ModelRequest, Picture, legal_word as legal,
};
use crate::protocol::options::ToolChoice;
use crate::protocol::session::NativeBlocks;

/// Smallest thinking budget that the API takes, in tokens.
const MIN_THINKING_TOKENS: u32 = 1024;

/// Which optional parameters a model is known to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameters {
    /// Send `thinking`.
    pub thinking: bool,
    /// Send `output_config.effort`.
    pub effort: bool,
    /// Which sampling parameters and choices of a tool it takes.
    pub support: Support,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            thinking: true,
            effort: true,
            support: Support::default(),
        }
    }
}

impl Parameters {
    /// What to send after a 400 with `words` to `body`, made of `request`; none when it names nothing that could be left out.
    pub fn without_refused(
        self,
        request: &ModelRequest,
        body: &Value,
        words: &str,
    ) -> Option<Self> {
        if let Some(support) = self.support.without_refused(request, words) {
            return Some(Self { support, ..self });
        }
        let sent = |name: &str| body.get(name).is_some();
        if sent("output_config") && (words.contains("output_config") || words.contains("effort")) {
            Some(Self {
                effort: false,
                ..self
            })
        } else if sent("thinking") && (words.contains("thinking") || words.contains("adaptive")) {
            Some(Self {
                thinking: false,
                effort: false,
                ..self
            })
        } else {
            None
        }
    }
}

pub fn body(request: &ModelRequest, parameters: Parameters) -> Value {
    let cached = request.profile.prompt_cache == PromptCache::Breakpoints;
    let mut body = json!({});
    body["model"] = json!(request.model);
    body["max_tokens"] = json!(request.max_output_tokens);
    body["stream"] = json!(true);
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
        if cached {
            mark_last(&mut tools);
        }
        body["tools"] = Value::Array(tools);
        if let Some(choice) = tool_choice(request, parameters.support.sent(request).tool_choice) {
            body["tool_choice"] = choice;
        }
    }
    if !request.system.is_empty() {
        let mut system = vec![json!({"type": "text", "text": request.system})];
        if cached {
            mark_last(&mut system);
        }
        body["system"] = Value::Array(system);
    }
    body["messages"] = messages(&request.messages, parameters.support, cached);
    parameters.support.put_sampling(request, "top_p", &mut body);
    ask_for_thinking(request, parameters, &mut body);
    body
}

/// Which tool is called, and whether it is the only one of the answer; none = nothing is sent.
fn tool_choice(request: &ModelRequest, choice: Option<ToolChoice>) -> Option<Value> {
    let mut sent = match choice {
        Some(ToolChoice::None) => return Some(json!({"type": "none"})),
        Some(ToolChoice::Required) => json!({"type": "any"}),
        Some(ToolChoice::Tool(name)) => json!({"type": "tool", "name": name}),
        Some(ToolChoice::Auto) => json!({"type": "auto"}),
        None if request.one_tool_per_step => json!({"type": "auto"}),
        None => return None,
    };
    if request.one_tool_per_step {
        sent["disable_parallel_tool_use"] = json!(true);
    }
    Some(sent)
}

/// The effort of the profile: a number is a budget in tokens (models before adaptive thinking), `none` turns thinking
/// off, any other word is an effort of adaptive thinking.
fn ask_for_thinking(request: &ModelRequest, parameters: Parameters, body: &mut Value) {
    let Some(effort) = request
        .profile
        .effort
        .as_deref()
        .filter(|_| parameters.thinking)
    else {
        return;
    };
    if let Ok(tokens) = effort.parse::<u32>() {
        let tokens = tokens.clamp(
            MIN_THINKING_TOKENS,
            request.max_output_tokens.max(MIN_THINKING_TOKENS + 1) - 1,
        );
        // The API refuses a budget in the middle of a tool loop that began without thinking, and one that leaves no
        // room for an answer.
        if loop_has_thinking(&request.messages) && request.max_output_tokens > tokens {
            body["thinking"] = json!({"type": "enabled", "budget_tokens": tokens});
        }
    } else if effort == "none" {
        body["thinking"] = json!({"type": "disabled"});
    } else {
        body["thinking"] = json!({"type": "adaptive"});
        if parameters.effort {
            body["output_config"] = json!({"effort": effort});
        }
    }
}

/// Whether every answer since the last user message begins with thinking.
fn loop_has_thinking(messages: &[ModelMessage]) -> bool {
    messages
        .iter()
        .rev()
        .take_while(|message| !matches!(message, ModelMessage::User { .. }))
        .all(|message| match message {
            ModelMessage::User { .. } | ModelMessage::ToolResults { .. } => true,
            ModelMessage::Assistant {
                text,
                tool_calls,
                native,
            } => assistant(text, tool_calls, native.as_ref())
                .first()
                .is_some_and(is_thinking),
        })
}

fn is_thinking(block: &Value) -> bool {
    is_kind(block, "thinking") || is_kind(block, "redacted_thinking")
}

fn messages(history: &[ModelMessage], support: Support, cached: bool) -> Value {
    let mut messages: Vec<(&str, Vec<Value>)> = Vec::new();
    // Messages sent before the newest user message: the finished history.
    let mut finished = 0;
    for message in history {
        if matches!(message, ModelMessage::User { .. }) {
            finished = messages.len();
        }
        let (role, content) = match message {
            ModelMessage::User { text, pictures } => {
                let mut content: Vec<Value> = support.shown(pictures).map(picture).collect();
                content.push(user_text(text));
                ("user", content)
            }
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
    if cached {
        if let Some((_, content)) = finished.checked_sub(1).and_then(|at| messages.get_mut(at)) {
            mark_last(content);
        }
        if let Some((_, content)) = messages.last_mut() {
            mark_last(content);
        }
    }
    messages
        .into_iter()
        .map(|(role, content)| json!({"role": role, "content": content}))
        .collect()
}

fn picture(picture: &Picture) -> Value {
    json!({
        "type": "image",
        "source": {
            "type": "base64",
            "media_type": picture.artifact.media_type,
            "data": &*picture.data,
        },
    })
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

/// Marks the last block that may be marked: thinking may not, and nothing is known about unknown blocks.
fn mark_last(blocks: &mut [Value]) {
    let markable = |block: &&mut Value| {
        block.get("type").is_none()
            || ["text", "tool_use", "tool_result"]
                .iter()
                .any(|kind| is_kind(block, kind))
    };
    let last = blocks.iter_mut().rev().find(markable);
    if let Some(object) = last.and_then(Value::as_object_mut) {
        object.insert("cache_control".to_owned(), json!({"type": "ephemeral"}));
    }
}
