//! The request body of `generateContent`. Pure and deterministic: equal requests give equal bytes.
//!
//! A model's content goes back in one piece, each signature on the part it came on; the results of one answer stand
//! alone in one content, in call order, with an id only where the server gave one.

use serde_json::{Map, Value, json};

use crate::model::gemini::decoder::FAMILY;
use crate::model::parameters::{Support, is_about_one_picture};
use crate::model::provider::Adjustment;
use crate::model::request::{
    AssistantToolCall, ModelMessage, ModelRequest, ToolResultMessage, legal_word as legal,
};
use crate::protocol::options::ToolChoice;
use crate::protocol::session::NativeBlocks;

/// What stands in for a signature that does not exist, on calls that another model made. Documented for that:
/// <https://ai.google.dev/gemini-api/docs/thought-signatures>.
pub const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// What the model is known to want.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameters {
    /// Send `thinkingConfig` to a model that reasons.
    pub thinking: bool,
    /// Mark calls that have no signature: the model refuses unmarked ones.
    pub mark_unsigned: bool,
    /// Replay native content.
    pub replay: bool,
    /// Which sampling parameters and choices of a tool it takes.
    pub support: Support,
}

impl Parameters {
    /// What to send to a model that has refused nothing.
    pub fn of(model: &str) -> Self {
        Self {
            thinking: true,
            mark_unsigned: wants_signatures(model),
            replay: true,
            support: Support::default(),
        }
    }

    /// What follows from `words` (lower case) of a 400 to `request`; none when trying again would not help.
    pub fn after(self, request: &ModelRequest, words: &str) -> Option<Adjustment<Self>> {
        let mut next = self;
        if let Some(support) = self.support.without_refused(request, words) {
            next.support = support;
            let kept = (!is_about_one_picture(words)).then(|| next.lasting());
            return Some(Adjustment { next, kept });
        }
        let signature = ["thought_signature", "thought signature", "thoughtsignature"];
        if signature.iter().any(|name| words.contains(name)) {
            if words.contains("missing") {
                next.mark_unsigned = true;
            } else {
                // Signatures that are not, or no longer, valid here: this history goes without them, others are tried
                // with theirs.
                return self.replay.then_some(Adjustment::once(Self {
                    replay: false,
                    mark_unsigned: true,
                    ..self
                }));
            }
        } else if words.contains("thinking") {
            next.thinking = false;
        }
        (next != self).then(|| Adjustment {
            next,
            kept: Some(next.lasting()),
        })
    }

    /// What of it holds for other requests, too.
    pub fn lasting(self) -> Self {
        Self {
            replay: true,
            ..self
        }
    }
}

/// Whether a model is known to refuse calls without a signature: Gemini 3 and later.
fn wants_signatures(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    let version = name.strip_prefix("gemini-").unwrap_or_default();
    let major: String = version.chars().take_while(char::is_ascii_digit).collect();
    major.parse::<u32>().is_ok_and(|major| major >= 3)
}

/// The body of one request. The model is named in the address.
pub fn body(request: &ModelRequest, parameters: Parameters) -> Value {
    let mut body = json!({});
    if !request.system.is_empty() {
        body["systemInstruction"] = json!({"parts": [{"text": request.system}]});
    }
    if !request.tools.is_empty() {
        let tools: Vec<Value> = request
            .tools
            .iter()
            .map(|tool| {
                json!({
                    "name": tool.name,
                    "description": tool.description,
                    "parametersJsonSchema": tool.input_schema,
                })
            })
            .collect();
        body["tools"] = json!([{"functionDeclarations": tools}]);
        let choice = parameters.support.sent(request).tool_choice;
        if let Some(choice) = choice {
            let config = match choice {
                ToolChoice::Auto => json!({"mode": "AUTO"}),
                ToolChoice::None => json!({"mode": "NONE"}),
                ToolChoice::Required => json!({"mode": "ANY"}),
                ToolChoice::Tool(name) => json!({"mode": "ANY", "allowedFunctionNames": [name]}),
            };
            body["toolConfig"] = json!({"functionCallingConfig": config});
        }
    }
    let contents = contents(&request.messages, parameters);
    body["contents"] = Value::Array(contents);
    let mut generation = json!({});
    generation["maxOutputTokens"] = json!(request.max_output_tokens);
    parameters
        .support
        .put_sampling(request, "topP", &mut generation);
    if parameters.thinking
        && let Some(thinking) = thinking(request)
    {
        generation["thinkingConfig"] = thinking;
    }
    body["generationConfig"] = generation;
    body
}

/// Thoughts are asked for as a sign of life; the effort is a level, or a number of tokens for models before Gemini 3.
fn thinking(request: &ModelRequest) -> Option<Value> {
    let mut thinking = Map::new();
    if request.profile.reasoning {
        thinking.insert("includeThoughts".to_owned(), json!(true));
    }
    if let Some(effort) = &request.profile.effort {
        match effort.parse::<i64>() {
            Ok(tokens) => thinking.insert("thinkingBudget".to_owned(), json!(tokens)),
            Err(_) => thinking.insert("thinkingLevel".to_owned(), json!(effort)),
        };
    }
    (!thinking.is_empty()).then_some(Value::Object(thinking))
}

/// A call of the last model content, and what it is called on the wire.
struct Open {
    call: String,
    name: Value,
    id: Option<Value>,
}

fn contents(history: &[ModelMessage], parameters: Parameters) -> Vec<Value> {
    let mut contents: Vec<Value> = Vec::new();
    let mut open: Vec<Open> = Vec::new();
    for message in history {
        let (role, parts) = match message {
            ModelMessage::User { text, pictures } => {
                let mut parts: Vec<Value> = parameters
                    .support
                    .shown(pictures)
                    .map(|picture| {
                        json!({"inlineData": {
                            "mimeType": picture.artifact.media_type,
                            "data": &*picture.data,
                        }})
                    })
                    .collect();
                parts.push(user_text(text));
                ("user", parts)
            }
            ModelMessage::Assistant {
                text,
                tool_calls,
                native,
            } => {
                let native = native.as_ref().filter(|_| parameters.replay);
                let (mut parts, calls) = native
                    .and_then(|native| replayed(native, tool_calls))
                    .unwrap_or_else(|| flattened(text, tool_calls));
                if parameters.mark_unsigned {
                    mark_unsigned(&mut parts);
                }
                open = calls;
                ("model", parts)
            }
            ModelMessage::ToolResults { results } => ("user", responses(results, &open)),
        };
        // A content without parts is refused.
        if !parts.is_empty() {
            contents.push(json!({"role": role, "parts": parts}));
        }
    }
    contents
}

/// The API refuses empty text.
fn user_text(text: &str) -> Value {
    let text = if text.trim().is_empty() {
        "(empty message)"
    } else {
        text
    };
    json!({"text": text})
}

fn flattened(text: &str, tool_calls: &[AssistantToolCall]) -> (Vec<Value>, Vec<Open>) {
    let mut parts = Vec::new();
    if !text.trim().is_empty() {
        parts.push(json!({"text": text}));
    }
    parts.extend(
        tool_calls
            .iter()
            .map(|call| json!({"functionCall": {"name": legal(&call.name), "args": call.args}})),
    );
    let open = tool_calls.iter().map(|call| Open {
        call: call.provider_call_id.clone(),
        name: json!(legal(&call.name)),
        id: None,
    });
    (parts, open.collect())
}

/// The parts as they came, or none when they are another family's or do not hold every call that the history answers.
fn replayed(
    native: &NativeBlocks,
    tool_calls: &[AssistantToolCall],
) -> Option<(Vec<Value>, Vec<Open>)> {
    if native.family != FAMILY {
        return None;
    }
    let mut ids = native.content.get("call_ids")?.as_array()?.iter();
    let mut parts = Vec::new();
    let mut open = Vec::new();
    for part in native.content.get("parts")?.as_array()? {
        let Some(call) = part.get("functionCall") else {
            parts.push(part.clone());
            continue;
        };
        let id = ids.next()?.as_str()?;
        // A call that was not taken up has no result, and may not be sent without one. Its signature stands for all
        // calls beside it: without that part the others cannot be replayed either.
        if !tool_calls.iter().any(|taken| taken.provider_call_id == id) {
            if part.get("thoughtSignature").is_some() {
                return None;
            }
            continue;
        }
        parts.push(part.clone());
        open.push(Open {
            call: id.to_owned(),
            name: call.get("name").cloned().unwrap_or_default(),
            id: call.get("id").cloned(),
        });
    }
    (open.len() == tool_calls.len()).then_some((parts, open))
}

/// The first call of a content is the one that must be signed.
fn mark_unsigned(parts: &mut [Value]) {
    let mut calls = parts
        .iter_mut()
        .filter(|part| part.get("functionCall").is_some());
    if let Some(Value::Object(first)) = calls.next() {
        first
            .entry("thoughtSignature")
            .or_insert_with(|| json!(NO_SIGNATURE));
    }
}

/// Results in the order of their calls: without ids, calls of one name are told apart by nothing else.
fn responses(results: &[ToolResultMessage], open: &[Open]) -> Vec<Value> {
    let place = |result: &ToolResultMessage| {
        open.iter()
            .position(|call| call.call == result.provider_call_id)
    };
    let mut ordered: Vec<&ToolResultMessage> = results.iter().collect();
    ordered.sort_by_key(|result| place(result).unwrap_or(usize::MAX));
    ordered
        .into_iter()
        .map(|result| {
            let key = if result.is_error { "error" } else { "output" };
            let mut response = json!({});
            let call = place(result).map(|at| &open[at]);
            if let Some(id) = call.and_then(|call| call.id.clone()) {
                response["id"] = id;
            }
            let name = call.map_or_else(|| json!(legal(&result.name)), |call| call.name.clone());
            response["name"] = name;
            response["response"] = json!({key: result.content});
            json!({"functionResponse": response})
        })
        .collect()
}
