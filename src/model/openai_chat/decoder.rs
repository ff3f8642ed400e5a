//! Chat Completions chunks → events. Pure: no I/O, no time.
//!
//! No answer is complete without a `finish_reason`, and no call is complete unless its arguments parse
//! as one JSON object. Tolerates what compatible servers really send: see the slot rules at
//! `Decoder::take_call_fragment`.
//! Format: <https://platform.openai.com/docs/api-reference/chat-streaming/streaming>.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::model::decode::{
    Decode, Ending, MAX_CALLS, Progress, StreamedArgs, add_call, measured, no_args, parse_args,
    reported_cost, take_model, word,
};
use crate::model::failure::{self, Failure, excerpt};
use crate::model::openai_chat::thinking::Thinking;
use crate::model::request::{
    MalformedArgs, ModelAnswer, ModelErrorKind, ModelEvent, ModelToolCall, StopReason,
};
use crate::model::surrogates;
use crate::protocol::session::{NativeBlocks, Usage};

/// The family of these native blocks.
pub const FAMILY: &str = "openai-chat";
/// Where the blocks of an answer came from, inside its native blocks: they go back to this host only.
pub const HOST: &str = "host";
/// Reasoning that a router wants back unchanged.
pub const REASONING_DETAILS: &str = "reasoning_details";
/// Most blocks of reasoning in one answer.
const MAX_DETAILS: usize = 512;

/// The stop word of an answer that ended with `[DONE]` alone.
const NO_REASON: &str = "done_without_finish_reason";

#[derive(Debug, Default)]
struct Slot {
    id: String,
    name: String,
    args: StreamedArgs,
}

/// The state of one answer.
#[derive(Debug, Default)]
pub struct Decoder {
    text: String,
    thinking: Thinking,
    details: Vec<Value>,
    slots: Vec<Slot>,
    slot_of_index: BTreeMap<u64, usize>,
    model: Option<String>,
    finish: Option<String>,
    ending: Ending,
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
            first_local_id,
            ..Self::default()
        }
    }

    /// The same, of an answer of `host`: its reasoning goes back there only.
    pub fn of_host(mut self, host: &str) -> Self {
        host.clone_into(&mut self.host);
        self
    }

    fn value(&mut self, chunk: &Value, part: &str) -> Result<Vec<ModelEvent>, Failure> {
        if !chunk.is_object() {
            return Err(self.unexpected("a JSON object", &chunk.to_string()));
        }
        if let Some(usage) = chunk.get("usage").filter(|usage| usage.is_object()) {
            self.usage = Some(read_usage(usage));
        }
        take_model(Some(chunk), "model", &mut self.model);
        let choice = chunk.get("choices").and_then(|choices| choices.get(0));
        let reports = |value: &&Value| failure::provider_error(value, false).is_some();
        if let Some(reporting) = Some(chunk).filter(reports).or(choice.filter(reports)) {
            return Err(self.reported(reporting));
        }
        let Some(choice) = choice else {
            return Ok(vec![ModelEvent::Heartbeat]);
        };
        let mut events = Vec::new();
        if let Some(delta) = choice.get(part) {
            self.take_delta(delta, &mut events)?;
        }
        let reason = choice.get("finish_reason").and_then(Value::as_str);
        let reason = reason.filter(|reason| !reason.is_empty());
        let has_content = choice.get(part).is_some_and(has_content);
        self.ending.take(has_content, reason.is_some());
        if let Some(reason) = reason {
            if reason == "error" {
                return Err(self.failure(
                    ModelErrorKind::Overloaded,
                    "it ended the answer with finish_reason error",
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
                return Err(self.too_many(MAX_DETAILS, "blocks of reasoning"));
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
        let id = word(fragment, "id");
        let name = word(function, "name");
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
                return Err(self.too_many(MAX_CALLS, "tool calls"));
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
        } else if slot.args.text().is_empty() && slot.name != name {
            slot.name.push_str(name);
        }
        slot.args.push(&args);
        Ok(())
    }

    fn opens_new_call(&self, at: usize, id: &str, name: &str, args: &str) -> bool {
        let slot = &self.slots[at];
        if !id.is_empty() && !slot.id.is_empty() && slot.id != id {
            return true;
        }
        let starts_over = args.trim_start().starts_with('{');
        let renamed = !name.is_empty() && !slot.args.text().is_empty() && slot.name != name;
        (starts_over || renamed)
            && slot.args.text().trim_end().ends_with('}')
            && surrogates::parse(slot.args.text()).is_ok()
    }
}

impl Decode for Decoder {
    fn progress(&self) -> Progress {
        match (&self.finish, self.done) {
            (Some(_), true) => Progress::Done,
            (Some(_), false) if self.ending.is_finishing() => Progress::Finishing,
            (None | Some(_), _) => Progress::Open,
        }
    }

    fn data(&mut self, data: &str) -> Result<Vec<ModelEvent>, Failure> {
        let data = data.trim();
        if data == "[DONE]" {
            let rest = self.end_of_text();
            if self.finish.is_none() {
                // The server says that it is done; text alone is an answer, a call without an end is not.
                if self.text.is_empty() || !self.slots.is_empty() {
                    return Err(self.failure(
                        ModelErrorKind::Disconnected,
                        "the server said [DONE] without a finish_reason",
                    ));
                }
                self.finish = Some(NO_REASON.to_owned());
            }
            self.done = true;
            return Ok(rest);
        }
        let chunk: Value = self.parse(data)?;
        self.value(&chunk, "delta")
    }

    fn whole(&mut self, body: &Value) -> Result<Vec<ModelEvent>, Failure> {
        let events = self.value(body, "message")?;
        if body.get("choices").is_none() {
            return Err(self.unexpected("a completion", &body.to_string()));
        }
        Ok(events)
    }

    fn finish(self, sent_bytes: usize) -> Result<ModelAnswer, Failure> {
        let is_over = self.done || self.ending.is_named();
        let Some(finish) = self.finish.clone().filter(|_| is_over) else {
            return Err(self.failure(
                ModelErrorKind::Disconnected,
                "the answer ended without a finish_reason",
            ));
        };
        let cut_off = finish == "length";
        let (usage, notes) = measured(self.usage, sent_bytes, || {
            let args = self.slots.iter().map(|slot| slot.args.text().len());
            self.text.len() + args.sum::<usize>()
        });
        let last = self.slots.len().checked_sub(1);
        let mut tool_calls: Vec<ModelToolCall> = Vec::new();
        for (position, slot) in self.slots.into_iter().enumerate() {
            let args = read_args(&slot, cut_off && Some(position) == last);
            let local = self.first_local_id + position;
            add_call(&mut tool_calls, &slot.id, local, &slot.name, args);
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
            model: self.model,
            usage,
            native: (!self.details.is_empty()).then(|| NativeBlocks {
                family: FAMILY.to_owned(),
                content: json!({ HOST: self.host, REASONING_DETAILS: self.details }),
            }),
            notes,
        })
    }

    fn counted(&self) -> Option<Usage> {
        self.usage
    }
}

/// Whether a delta has text, thinking or a call.
fn has_content(delta: &Value) -> bool {
    let texts = ["content", "refusal", "reasoning", "reasoning_content"];
    let is_some = |field: &str| match delta.get(field) {
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Array(parts)) => !parts.is_empty(),
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => false,
    };
    texts.into_iter().any(is_some) || is_some("tool_calls")
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

fn read_args(slot: &Slot, may_be_cut_off: bool) -> Result<Value, MalformedArgs> {
    let text = slot.args.text();
    if let Some(oversize) = slot.args.oversize() {
        return Err(oversize);
    }
    match text.trim() {
        "" | "null" => no_args(text, may_be_cut_off),
        _ => parse_args(text, may_be_cut_off),
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
        cost_usd: reported_cost(usage),
    }
}
