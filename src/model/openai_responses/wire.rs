//! The request body of the Responses API. Pure and deterministic: equal requests give equal bytes.
//!
//! The server keeps nothing (`store: false`), so nothing is referred to by id: a reasoning item goes back whole and
//! directly before what it produced, or not at all.

use serde_json::{Map, Value, json};

use crate::config::model_tables::PromptCache;
use crate::model::decode::{is_kind, word};
use crate::model::failure;
use crate::model::openai_responses::decoder::FAMILY;
use crate::model::openai_responses::items::{has_content, text_of};
use crate::model::parameters::Support;
use crate::model::request::{AssistantToolCall, ModelMessage, ModelRequest, legal_word as legal};
use crate::protocol::options::ToolChoice;
use crate::protocol::session::NativeBlocks;

/// Most cache breakpoints of one request; the API writes no more.
const MAX_BREAKPOINTS: usize = 4;

/// Which optional parameters the server is known to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameters {
    /// Send `stream_options`: without it events may be padded.
    pub stream_options: bool,
    /// Send `parallel_tool_calls` when one call per answer is wanted.
    pub parallel_tool_calls: bool,
    /// Ask for the content of reasoning items.
    pub encrypted_reasoning: bool,
    /// Send `reasoning.effort` where the profile names one.
    pub effort: bool,
    /// Send `prompt_cache_key` where the profile wants one.
    pub cache_key: bool,
    /// Beside the key, send the cache mode and the breakpoints.
    pub cache_breakpoints: bool,
    /// Say that tools are not strict.
    pub strict: bool,
    /// Which sampling parameters and choices of a tool it takes.
    pub support: Support,
}

impl Default for Parameters {
    /// A server that takes everything.
    fn default() -> Self {
        Self {
            stream_options: true,
            parallel_tool_calls: true,
            encrypted_reasoning: true,
            effort: true,
            cache_key: true,
            cache_breakpoints: true,
            strict: true,
            support: Support::default(),
        }
    }
}

impl Parameters {
    /// What to send after a refusal of `request` with `words`, lower case; none when they name nothing that could be left out.
    ///
    /// The bound on output tokens is never given up, and a refused value (an effort the model does not know) is for
    /// the operator to correct.
    pub fn without_refused(self, request: &ModelRequest, words: &str) -> Option<Self> {
        if let Some(support) = self.support.without_refused(request, words) {
            return Some(Self { support, ..self });
        }
        let names = |list: &[&str]| list.iter().any(|name| words.contains(name));
        if !failure::refuses_parameter(words) || names(&["unsupported value", "unsupported_value"])
        {
            return None;
        }
        let mut fewer = self;
        let parameter = if names(&["stream_options", "include_obfuscation"]) {
            &mut fewer.stream_options
        } else if names(&["prompt_cache_options", "prompt_cache_breakpoint"]) {
            &mut fewer.cache_breakpoints
        } else if names(&["prompt_cache_key"]) {
            &mut fewer.cache_key
        } else if names(&["parallel_tool_calls"]) {
            &mut fewer.parallel_tool_calls
        } else if names(&[
            "encrypted_content",
            "encrypted content",
            "'include'",
            "parameter: include",
        ]) {
            &mut fewer.encrypted_reasoning
        } else if names(&["reasoning.effort", "'reasoning'", "parameter: reasoning"]) {
            &mut fewer.effort
        } else if names(&[".strict", "'strict'", "parameter: strict"]) {
            &mut fewer.strict
        } else {
            return None;
        };
        std::mem::replace(parameter, false).then_some(fewer)
    }
}

/// What to do with the native items of earlier answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replay {
    /// Send them back as they came.
    Native,
    /// Leave them out: text, calls and results only.
    Flat,
}

pub fn body(request: &ModelRequest, parameters: Parameters, replay: Replay) -> Value {
    let profile = &request.profile;
    let key = request
        .prompt_cache_key
        .as_ref()
        .filter(|_| profile.prompt_cache == PromptCache::Key && parameters.cache_key);
    let breakpoints = key.is_some() && parameters.cache_breakpoints;
    let mut body = Map::new();
    let mut set = |name: &str, value: Value| body.insert(name.to_owned(), value);
    set("model", json!(request.model));
    set("store", json!(false));
    set("stream", json!(true));
    if parameters.stream_options {
        set("stream_options", json!({"include_obfuscation": false}));
    }
    if profile.reasoning && parameters.encrypted_reasoning {
        set("include", json!(["reasoning.encrypted_content"]));
    }
    if let Some(effort) = profile.effort.as_ref().filter(|_| parameters.effort) {
        set("reasoning", json!({"effort": effort}));
    }
    set("max_output_tokens", json!(request.max_output_tokens));
    let sent = parameters.support.sent(request);
    if let Some(temperature) = sent.temperature {
        set("temperature", json!(temperature));
    }
    if let Some(top_p) = sent.top_p {
        set("top_p", json!(top_p));
    }
    if let Some(choice) = sent.tool_choice {
        let choice = match choice {
            ToolChoice::Tool(name) => json!({"type": "function", "name": legal(&name)}),
            word @ (ToolChoice::Auto | ToolChoice::None | ToolChoice::Required) => json!(word),
        };
        set("tool_choice", choice);
    }
    if let Some(key) = key {
        set("prompt_cache_key", json!(key));
    }
    if breakpoints {
        // The implicit breakpoint lies behind what changes most; a write costs more than plain input.
        set("prompt_cache_options", json!({"mode": "explicit"}));
    }
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            let mut function = json!({
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.input_schema,
            });
            if parameters.strict {
                // Left out it would mean true, and the schema would be changed under us.
                function["strict"] = json!(false);
            }
            function
        });
        set("tools", tools.collect());
        if request.one_tool_per_step && parameters.parallel_tool_calls {
            set("parallel_tool_calls", json!(false));
        }
    }
    if !request.system.is_empty() {
        set("instructions", json!(request.system));
    }
    set(
        "input",
        input(&request.messages, parameters.support, breakpoints, replay),
    );
    Value::Object(body)
}

fn input(history: &[ModelMessage], support: Support, breakpoints: bool, replay: Replay) -> Value {
    let mut input: Vec<Value> = Vec::new();
    // Where a cached prefix may end: behind what a request of ours ended with.
    let mut ends: Vec<usize> = Vec::new();
    for message in history {
        match message {
            ModelMessage::User { text, pictures } => {
                let mut content = vec![json!({"type": "input_text", "text": text})];
                content.extend(support.shown(pictures).map(
                    |picture| json!({"type": "input_image", "image_url": picture.data_url()}),
                ));
                input.push(json!({
                    "type": "message",
                    "role": "user",
                    "content": content,
                }));
                ends.push(input.len() - 1);
            }
            ModelMessage::Assistant {
                text,
                tool_calls,
                native,
            } => {
                let native = native.as_ref().filter(|_| replay == Replay::Native);
                match native.and_then(|native| replayed(native, tool_calls)) {
                    Some(items) => input.extend(items),
                    None => input.extend(rebuilt(text, tool_calls)),
                }
            }
            ModelMessage::ToolResults { results } => {
                input.extend(results.iter().map(|result| {
                    json!({
                        "type": "function_call_output",
                        "call_id": legal(&result.provider_call_id),
                        // One form for all while breakpoints are in use: a prefix is cached byte for byte.
                        "output": if breakpoints {
                            json!([{"type": "input_text", "text": result.content}])
                        } else {
                            json!(result.content)
                        },
                    })
                }));
                ends.push(input.len().saturating_sub(1));
            }
        }
    }
    if breakpoints {
        for end in ends.into_iter().rev().take(MAX_BREAKPOINTS) {
            mark(&mut input[end]);
        }
    }
    Value::Array(input)
}

/// Puts a cache breakpoint behind the last block of a message or of a call's output.
fn mark(item: &mut Value) {
    let blocks = match item.get_mut("content") {
        Some(content) => Some(content),
        None => item.get_mut("output"),
    };
    if let Some(block) = blocks
        .and_then(Value::as_array_mut)
        .and_then(|blocks| blocks.last_mut())
    {
        block["prompt_cache_breakpoint"] = json!({"mode": "explicit"});
    }
}

fn rebuilt(text: &str, tool_calls: &[AssistantToolCall]) -> Vec<Value> {
    let said = (!text.trim().is_empty())
        .then(|| json!({"type": "message", "role": "assistant", "content": text}));
    let calls = tool_calls.iter().map(|call| {
        json!({
            "type": "function_call",
            "call_id": legal(&call.provider_call_id),
            "name": legal(&call.name),
            "arguments": call.args.to_string(),
        })
    });
    said.into_iter().chain(calls).collect()
}

/// The items as they came, or none when they are another family's or do not hold every call that the history answers.
///
/// A reasoning item stays with what it produced: it is left out where nothing of that is left, and where it is left
/// out (it came without content) its products lose the id by which the server would ask for it.
fn replayed(native: &NativeBlocks, tool_calls: &[AssistantToolCall]) -> Option<Vec<Value>> {
    if native.family != FAMILY {
        return None;
    }
    let mut found = 0;
    let mut input = Vec::new();
    let mut thoughts: Vec<Value> = Vec::new();
    let mut lost = false;
    let mut produced = false;
    for item in native.content.as_array()? {
        if is_kind(item, "reasoning") {
            if std::mem::take(&mut produced) {
                thoughts.clear();
                lost = false;
            }
            if has_content(item) {
                thoughts.push(item.clone());
            } else {
                lost = true;
            }
            continue;
        }
        produced = true;
        let mut item = item.clone();
        if is_kind(&item, "function_call") {
            let id = word(&item, "call_id").to_owned();
            // A call that was not taken up has no result, and may not be sent without one.
            if !tool_calls.iter().any(|call| call.provider_call_id == id) {
                continue;
            }
            found += 1;
            let name = legal(word(&item, "name"));
            let fields = item.as_object_mut()?;
            fields.insert("call_id".to_owned(), json!(legal(&id)));
            fields.insert("name".to_owned(), json!(name));
        } else if is_kind(&item, "message") && text_of(&item).0.is_empty() {
            continue;
        }
        if lost {
            item.as_object_mut()?.remove("id");
        }
        input.append(&mut thoughts);
        input.push(item);
    }
    (found == tool_calls.len()).then_some(input)
}
