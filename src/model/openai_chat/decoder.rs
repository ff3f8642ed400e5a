//! Chat Completions chunks → events. Pure: no I/O, no time.
//!
//! No answer is complete without a `finish_reason`, and no call is complete unless its arguments parse
//! as one JSON object. Tolerates what compatible servers really send: see the slot rules at
//! `Decoder::take_call_fragment`.
//! Format: <https://platform.openai.com/docs/api-reference/chat-streaming/streaming>.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::model::exchange::{Decode, Progress, believed, estimated, unless_counted};
use crate::model::failure::{self, Failure, excerpt};
use crate::model::openai_chat::thinking::Thinking;
use crate::model::request::{
    MalformedArgs, ModelAnswer, ModelErrorKind, ModelEvent, ModelToolCall, StopReason, TokenCount,
};
use crate::model::surrogates;
use crate::protocol::session::{NativeBlocks, Usage};

/// The family of these native blocks.
pub const FAMILY: &str = "openai-chat";
/// Where the blocks of an answer came from, inside its native blocks: they go back to this host only.
pub const HOST: &str = "host";
/// Reasoning that a router wants back unchanged.
pub const REASONING_DETAILS: &str = "reasoning_details";
/// Most bytes of one call's arguments.
const MAX_ARGS_BYTES: usize = 1024 * 1024;
/// Most blocks of reasoning in one answer.
const MAX_DETAILS: usize = 512;
/// Most calls in one answer; more is a server gone wrong.
const MAX_CALLS: usize = 128;

/// The stop word of an answer that ended with `[DONE]` alone.
const NO_REASON: &str = "done_without_finish_reason";

#[derive(Debug, Default)]
struct Slot {
    id: String,
    name: String,
    args: String,
    too_large: bool,
}

/// The state of one answer.
#[derive(Debug)]
pub struct Decoder {
    text: String,
    thinking: Thinking,
    details: Vec<Value>,
    slots: Vec<Slot>,
    slot_of_index: BTreeMap<u64, usize>,
    finish: Option<String>,
    refused: bool,
    done: bool,
    usage: Option<Usage>,
    first_local_id: usize,
    host: String,
}

impl Decoder {
    /// A decoder whose made-up call ids start at `call_local_<first_local_id>`.
    pub fn new(first_local_id: usize) -> Self {
        Self {
            text: String::new(),
            thinking: Thinking::default(),
            details: Vec::new(),
            slots: Vec::new(),
            slot_of_index: BTreeMap::new(),
            finish: None,
            refused: false,
            done: false,
            usage: None,
            first_local_id,
            host: String::new(),
        }
    }

    /// The same, of an answer of `host`: its reasoning goes back there only.
    pub fn of_host(mut self, host: &str) -> Self {
        host.clone_into(&mut self.host);
        self
    }

    /// Where the answer stands.
    pub fn progress(&self) -> Progress {
        match (&self.finish, self.done) {
            (None, _) => Progress::Open,
            (Some(_), false) => Progress::Finishing,
            (Some(_), true) => Progress::Done,
        }
    }

    /// Takes the data of one SSE event.
    pub fn data(&mut self, data: &str) -> Result<Vec<ModelEvent>, Failure> {
        let data = data.trim();
        if data == "[DONE]" {
            let rest = self.end_of_text();
            if self.finish.is_none() {
                // The server says that it is done; text alone is an answer, a call without an end is not.
                if self.text.is_empty() || !self.slots.is_empty() {
                    return Err(self.failure(
                        ModelErrorKind::Disconnected,
                        "the server said [DONE] without a finish_reason".to_owned(),
                    ));
                }
                self.finish = Some(NO_REASON.to_owned());
            }
            self.done = true;
            return Ok(rest);
        }
        let chunk: Value = surrogates::parse(data).map_err(|error| {
            self.failure(
                ModelErrorKind::Protocol,
                format!(
                    "expected JSON in the stream ({error}), got: {}",
                    excerpt(data)
                ),
            )
        })?;
        self.value(&chunk, "delta")
    }

    /// Takes a whole completion that came as one JSON body.
    pub fn whole(&mut self, body: &Value) -> Result<Vec<ModelEvent>, Failure> {
        let events = self.value(body, "message")?;
        if body.get("choices").is_none() {
            return Err(self.failure(
                ModelErrorKind::Protocol,
                format!("expected a completion, got: {}", excerpt(&body.to_string())),
            ));
        }
        Ok(events)
    }

    fn failure(&self, kind: ModelErrorKind, what: String) -> Failure {
        Failure {
            kind,
            what,
            usage: self.usage.map(|usage| TokenCount {
                input: usage.input_tokens,
                output: usage.output_tokens,
            }),
        }
    }

    fn value(&mut self, chunk: &Value, part: &str) -> Result<Vec<ModelEvent>, Failure> {
        if !chunk.is_object() {
            return Err(self.failure(
                ModelErrorKind::Protocol,
                format!(
                    "expected a JSON object, got: {}",
                    excerpt(&chunk.to_string())
                ),
            ));
        }
        if let Some(usage) = chunk.get("usage").filter(|usage| usage.is_object()) {
            self.usage = Some(read_usage(usage));
        }
        let choice = chunk.get("choices").and_then(|choices| choices.get(0));
        let error = failure::provider_error(chunk, false)
            .or_else(|| choice.and_then(|choice| failure::provider_error(choice, false)));
        if let Some(error) = error {
            return Err(self.failure(
                failure::classify_in_band(&error),
                format!("it reported an error: {}", excerpt(&error.message)),
            ));
        }
        let Some(choice) = choice else {
            return Ok(vec![ModelEvent::Heartbeat]);
        };
        let mut events = Vec::new();
        if let Some(delta) = choice.get(part) {
            self.take_delta(delta, &mut events)?;
        }
        if let Some(reason) = choice.get("finish_reason").and_then(Value::as_str)
            && !reason.is_empty()
        {
            if reason == "error" {
                return Err(self.failure(
                    ModelErrorKind::Overloaded,
                    "it ended the answer with finish_reason error".to_owned(),
                ));
            }
            events.extend(self.end_of_text());
            // A repeated label must not soften an earlier "length".
            self.finish.get_or_insert_with(|| reason.to_owned());
        }
        if events.is_empty() {
            events.push(ModelEvent::Heartbeat);
        }
        Ok(events)
    }

    fn take_delta(&mut self, delta: &Value, events: &mut Vec<ModelEvent>) -> Result<(), Failure> {
        let mut show = |decoder: &mut Self, text: &str| {
            let visible = decoder.thinking.visible(text);
            if !visible.is_empty() {
                decoder.text.push_str(&visible);
                events.push(ModelEvent::TextDelta(visible));
            }
        };
        match delta.get("content") {
            Some(Value::String(text)) => show(self, text),
            Some(Value::Array(parts)) => {
                for part in parts {
                    let visible = part
                        .get("type")
                        .and_then(Value::as_str)
                        .is_none_or(|kind| matches!(kind, "text" | "output_text"));
                    if let Some(text) = part.get("text").and_then(Value::as_str)
                        && visible
                    {
                        show(self, text);
                    }
                }
            }
            Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => {}
        }
        if let Some(text) = delta.get("refusal").and_then(Value::as_str)
            && !text.is_empty()
        {
            self.refused = true;
            show(self, text);
        }
        for fragment in delta
            .get(REASONING_DETAILS)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            if self.details.len() >= MAX_DETAILS {
                return Err(self.failure(
                    ModelErrorKind::Protocol,
                    format!("more than {MAX_DETAILS} blocks of reasoning in one answer"),
                ));
            }
            add_detail(&mut self.details, fragment);
        }
        for fragment in delta
            .get("tool_calls")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            self.take_call_fragment(fragment)?;
        }
        Ok(())
    }

    /// What was held back because it might have been the beginning of reasoning.
    fn end_of_text(&mut self) -> Vec<ModelEvent> {
        let rest = self.thinking.end();
        if rest.is_empty() {
            return Vec::new();
        }
        self.text.push_str(&rest);
        vec![ModelEvent::TextDelta(rest)]
    }

    /// Puts one fragment of a call where it belongs.
    ///
    /// 1. By `index`; without one, by a known `id`, else to the slot opened last.
    /// 2. A new non-empty `id` that differs from the slot's opens a new slot (servers that say index 0
    ///    for every call).
    /// 3. Arguments that start an object where the slot already holds a complete one open a new slot
    ///    (servers without index and id).
    /// 4. The name is set, not appended, when it is repeated.
    fn take_call_fragment(&mut self, fragment: &Value) -> Result<(), Failure> {
        let function = fragment.get("function").unwrap_or(fragment);
        let id = fragment.get("id").and_then(Value::as_str).unwrap_or("");
        let name = function.get("name").and_then(Value::as_str).unwrap_or("");
        let args = match function.get("arguments") {
            Some(Value::String(text)) => text.clone(),
            Some(object @ Value::Object(_)) => object.to_string(),
            Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_)) | None => {
                String::new()
            }
        };
        let index = fragment.get("index").and_then(Value::as_u64);
        let by_index = index.and_then(|index| self.slot_of_index.get(&index).copied());
        let by_id = || {
            (!id.is_empty())
                .then(|| self.slots.iter().rposition(|slot| slot.id == id))
                .flatten()
        };
        let found = match index {
            Some(_) => by_index,
            None => by_id().or_else(|| self.slots.len().checked_sub(1)),
        };
        let position = match found {
            Some(at) if !self.opens_new_call(at, id, name, &args) => at,
            // The id may belong to an earlier call of the same index.
            Some(at) if !id.is_empty() && self.slots[at].id != id => {
                by_id().unwrap_or(self.slots.len())
            }
            Some(_) | None => self.slots.len(),
        };
        if position == self.slots.len() {
            if self.slots.len() >= MAX_CALLS {
                return Err(self.failure(
                    ModelErrorKind::Protocol,
                    format!("more than {MAX_CALLS} tool calls in one answer"),
                ));
            }
            self.slots.push(Slot::default());
        }
        if let Some(index) = index {
            self.slot_of_index.insert(index, position);
        }
        let slot = &mut self.slots[position];
        if slot.id.is_empty() {
            id.clone_into(&mut slot.id);
        }
        if slot.name.is_empty() || name.starts_with(&slot.name) {
            if !name.is_empty() {
                name.clone_into(&mut slot.name);
            }
        } else if slot.args.is_empty() && slot.name != name {
            slot.name.push_str(name);
        }
        if slot.args.len() + args.len() > MAX_ARGS_BYTES {
            slot.too_large = true;
        } else {
            slot.args.push_str(&args);
        }
        Ok(())
    }

    fn opens_new_call(&self, at: usize, id: &str, name: &str, args: &str) -> bool {
        let slot = &self.slots[at];
        if !id.is_empty() && !slot.id.is_empty() && slot.id != id {
            return true;
        }
        let starts_over = args.trim_start().starts_with('{');
        let renamed = !name.is_empty() && !slot.args.is_empty() && slot.name != name;
        (starts_over || renamed)
            && slot.args.trim_end().ends_with('}')
            && surrogates::parse(&slot.args).is_ok()
    }

    /// The answer, once the stream has ended. `sent_bytes` is the size of the request: where the server
    /// reports no usage, tokens are estimated (four bytes each), so that a budget still counts.
    pub fn finish(self, sent_bytes: usize) -> Result<ModelAnswer, Failure> {
        let Some(finish) = self.finish.clone() else {
            return Err(self.failure(
                ModelErrorKind::Disconnected,
                "the answer ended without a finish_reason".to_owned(),
            ));
        };
        let cut_off = finish == "length";
        let written = self.text.len() + self.slots.iter().map(|s| s.args.len()).sum::<usize>();
        let counted = believed(self.usage);
        let notes = unless_counted(counted);
        let usage = counted.unwrap_or_else(|| estimated(sent_bytes, written));
        let last = self.slots.len().checked_sub(1);
        let mut tool_calls: Vec<ModelToolCall> = Vec::new();
        for (position, slot) in self.slots.into_iter().enumerate() {
            let taken = tool_calls
                .iter()
                .any(|call| call.provider_call_id == slot.id);
            let provider_call_id = if slot.id.is_empty() || taken {
                format!("call_local_{}", self.first_local_id + position)
            } else {
                slot.id.clone()
            };
            tool_calls.push(ModelToolCall {
                provider_call_id,
                args: read_args(&slot, cut_off && Some(position) == last),
                name: slot.name,
            });
        }
        // The label is a hint only: servers say `stop` beside calls and `tool_calls` beside none.
        let stop = match finish.as_str() {
            "length" => StopReason::MaxTokens,
            "content_filter" => StopReason::Refusal,
            "stop" | "tool_calls" | "function_call" if !tool_calls.is_empty() => {
                StopReason::ToolUse
            }
            "stop" | "tool_calls" | "function_call" | "eos" | "end_turn" if self.refused => {
                StopReason::Refusal
            }
            "stop" | "tool_calls" | "function_call" | "eos" | "end_turn" => StopReason::EndTurn,
            _ if !tool_calls.is_empty() => StopReason::ToolUse,
            other => StopReason::Other(excerpt(other)),
        };
        Ok(ModelAnswer {
            text: self.text,
            tool_calls,
            stop,
            usage,
            native: (!self.details.is_empty()).then(|| NativeBlocks {
                family: FAMILY.to_owned(),
                content: json!({ HOST: self.host, REASONING_DETAILS: self.details }),
            }),
            notes,
        })
    }
}

/// Puts a fragment of reasoning to the block it goes on with: the one of its index, else the last one of its type. Words
/// are appended; any other field is the newest that came.
fn add_detail(details: &mut Vec<Value>, fragment: &Value) {
    let Some(fields) = fragment.as_object() else {
        details.push(fragment.clone());
        return;
    };
    let same = |name: &str, block: &Value| block.get(name) == fragment.get(name);
    let found = match fragment.get("index") {
        Some(Value::Number(_)) => details
            .iter_mut()
            .rev()
            .find(|block| same("index", block) && same("type", block)),
        Some(_) | None => details
            .last_mut()
            .filter(|block| same("type", block) && same("index", block))
            .filter(|_| fragment.get("data").is_none()),
    };
    let Some(Value::Object(block)) = found else {
        details.push(fragment.clone());
        return;
    };
    for (name, value) in fields {
        match (name.as_str(), block.get_mut(name), value) {
            ("text" | "summary" | "data", Some(Value::String(text)), Value::String(more)) => {
                text.push_str(more);
            }
            (_, Some(_), Value::Null) => {}
            (_, _, value) => {
                block.insert(name.clone(), value.clone());
            }
        }
    }
}

impl Decode for Decoder {
    fn progress(&self) -> Progress {
        self.progress()
    }

    fn data(&mut self, data: &str) -> Result<Vec<ModelEvent>, Failure> {
        self.data(data)
    }

    fn whole(&mut self, body: &Value) -> Result<Vec<ModelEvent>, Failure> {
        self.whole(body)
    }

    fn finish(self: Box<Self>, sent_bytes: usize) -> Result<ModelAnswer, Failure> {
        (*self).finish(sent_bytes)
    }
}

fn read_args(slot: &Slot, may_be_cut_off: bool) -> Result<Value, MalformedArgs> {
    let malformed = |error: String| MalformedArgs {
        raw: excerpt(&slot.args),
        error,
    };
    if slot.too_large {
        return Err(malformed(format!(
            "the arguments are larger than {} KiB",
            MAX_ARGS_BYTES / 1024
        )));
    }
    let text = slot.args.trim();
    if text.is_empty() || text == "null" {
        return if may_be_cut_off {
            Err(malformed(
                "the answer reached its length limit before the arguments".to_owned(),
            ))
        } else {
            Ok(Value::Object(serde_json::Map::new()))
        };
    }
    match surrogates::parse(text) {
        Ok(object @ Value::Object(_)) => Ok(object),
        Ok(_) => Err(malformed("the arguments are not a JSON object".to_owned())),
        Err(error) if may_be_cut_off => Err(malformed(format!(
            "the answer reached its length limit inside the arguments ({error})"
        ))),
        Err(error) => Err(malformed(format!(
            "the arguments are not complete JSON ({error})"
        ))),
    }
}

fn read_usage(usage: &Value) -> Usage {
    let count = |value: Option<&Value>| value.and_then(Value::as_u64).unwrap_or(0);
    let details = usage.get("prompt_tokens_details");
    Usage {
        input_tokens: count(usage.get("prompt_tokens")),
        output_tokens: count(usage.get("completion_tokens")),
        cached_input_tokens: details
            .and_then(|details| details.get("cached_tokens"))
            .or_else(|| usage.get("prompt_cache_hit_tokens"))
            .and_then(Value::as_u64)
            .unwrap_or(0),
        cache_write_tokens: count(details.and_then(|details| details.get("cache_write_tokens"))),
        cost_usd: usage.get("cost").and_then(Value::as_f64),
    }
}
