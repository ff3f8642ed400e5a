//! Messages API events → our events. Pure: no I/O, no time.
//!
//! No answer is complete without `message_stop`, and no `tool_use` is complete without its
//! `content_block_stop`. Blocks are kept as the provider sent them, unknown kinds included.
//! Format: <https://docs.anthropic.com/en/docs/build-with-claude/streaming>.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::model::decode::{
    Decode, Progress, StreamedArgs, add_call, believed, is_kind, malformed, measured, no_args,
    no_object, parse_args, set_count, take_model, word,
};
use crate::model::failure::{self, Failure, excerpt};
use crate::model::request::{
    MalformedArgs, ModelAnswer, ModelErrorKind, ModelEvent, ModelToolCall, StopReason,
};
use crate::model::surrogates;
use crate::protocol::session::{NativeBlocks, Usage};

/// The family of these native blocks.
pub const FAMILY: &str = "anthropic";
/// Most content blocks of one answer.
const MAX_BLOCKS: usize = 512;

#[derive(Debug, Default)]
struct Block {
    raw: Value,
    args: StreamedArgs,
    closed: bool,
}

#[derive(Debug, Default, Clone, Copy)]
struct Counts {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
}

/// The state of one answer.
#[derive(Debug, Default)]
pub struct Decoder {
    blocks: BTreeMap<u64, Block>,
    counts: Counts,
    model: Option<String>,
    stop_reason: Option<String>,
    refused_for: Option<String>,
    stopped: bool,
    first_local_id: usize,
}

impl Decoder {
    /// A decoder whose made-up call ids start at `call_local_<first_local_id>`.
    pub fn new(first_local_id: usize) -> Self {
        Self {
            first_local_id,
            ..Self::default()
        }
    }

    /// Whether `message_stop` came.
    pub fn is_complete(&self) -> bool {
        self.stopped
    }

    fn start(&mut self, index: u64, block: Option<&Value>) -> Result<Vec<ModelEvent>, Failure> {
        if self.blocks.len() >= MAX_BLOCKS {
            return Err(self.too_many(MAX_BLOCKS, "content blocks"));
        }
        let raw = block.cloned().unwrap_or_else(|| json!({}));
        let text = raw
            .get("text")
            .and_then(Value::as_str)
            .filter(|text| is_kind(&raw, "text") && !text.is_empty())
            .map(str::to_owned);
        self.blocks.insert(
            index,
            Block {
                raw,
                ..Block::default()
            },
        );
        Ok(vec![
            text.map_or(ModelEvent::Heartbeat, ModelEvent::TextDelta),
        ])
    }

    fn delta(&mut self, index: u64, delta: Option<&Value>) -> Result<Vec<ModelEvent>, Failure> {
        let Some(delta) = delta else {
            return Ok(vec![ModelEvent::Heartbeat]);
        };
        let Some(block) = self.blocks.get_mut(&index) else {
            return Err(self.failure(
                ModelErrorKind::Protocol,
                format!("a delta for content block {index}, which never started"),
            ));
        };
        let word = |name: &str| word(delta, name);
        match word("type") {
            "text_delta" => {
                append(&mut block.raw, "text", word("text"));
                if !word("text").is_empty() {
                    return Ok(vec![ModelEvent::TextDelta(word("text").to_owned())]);
                }
            }
            "thinking_delta" => append(&mut block.raw, "thinking", word("thinking")),
            "signature_delta" => append(&mut block.raw, "signature", word("signature")),
            "input_json_delta" => block.args.push(word("partial_json")),
            "citations_delta" => {
                if let (Some(object), Some(citation)) =
                    (block.raw.as_object_mut(), delta.get("citation"))
                {
                    match object.get_mut("citations") {
                        Some(Value::Array(list)) => list.push(citation.clone()),
                        Some(_) | None => {
                            object.insert("citations".to_owned(), json!([citation]));
                        }
                    }
                }
            }
            _ => {}
        }
        Ok(vec![ModelEvent::Heartbeat])
    }

    fn stop(&mut self, index: u64) {
        if let Some(block) = self.blocks.get_mut(&index) {
            block.closed = true;
        }
    }

    /// The rule behind a refusal, where the provider names one.
    fn take_refusal(&mut self, source: Option<&Value>) {
        let details = source.and_then(|source| source.get("stop_details"));
        let word = |name: &str| details?.get(name)?.as_str().filter(|text| !text.is_empty());
        if let Some(rule) = word("category").or_else(|| word("explanation")) {
            self.refused_for = Some(excerpt(rule));
        }
    }

    /// Snapshots, not increments: each field that is present replaces the one before.
    fn take_usage(&mut self, usage: Option<&Value>) {
        let Some(usage) = usage else { return };
        let counts = &mut self.counts;
        set_count(usage, "input_tokens", &mut counts.input);
        set_count(usage, "output_tokens", &mut counts.output);
        set_count(usage, "cache_read_input_tokens", &mut counts.cache_read);
        set_count(
            usage,
            "cache_creation_input_tokens",
            &mut counts.cache_write,
        );
        // The same tokens, told apart by how long they are kept; some servers send only these.
        if let Some(Value::Object(by_life)) = usage.get("cache_creation")
            && usage.get("cache_creation_input_tokens").is_none()
        {
            counts.cache_write = by_life.values().filter_map(Value::as_u64).sum();
        }
    }

    fn usage(&self) -> Usage {
        let counts = self.counts;
        Usage {
            input_tokens: counts.input + counts.cache_read + counts.cache_write,
            output_tokens: counts.output,
            cached_input_tokens: counts.cache_read,
            cache_write_tokens: counts.cache_write,
            cost_usd: None,
        }
    }
}

impl Decode for Decoder {
    fn progress(&self) -> Progress {
        if self.is_complete() {
            Progress::Done
        } else {
            Progress::Open
        }
    }

    fn data(&mut self, data: &str) -> Result<Vec<ModelEvent>, Failure> {
        let event: Value = self.parse(data.trim())?;
        let index = event.get("index").and_then(Value::as_u64).unwrap_or(0);
        match event.get("type").and_then(Value::as_str).unwrap_or("") {
            "message_start" => {
                self.take_usage(event.pointer("/message/usage"));
                take_model(event.get("message"), "model", &mut self.model);
                // Some compatible servers send the whole text in the opening message.
                Ok(vec![ModelEvent::Heartbeat])
            }
            "content_block_start" => self.start(index, event.get("content_block")),
            "content_block_delta" => self.delta(index, event.get("delta")),
            "content_block_stop" => {
                self.stop(index);
                Ok(vec![ModelEvent::Heartbeat])
            }
            "message_delta" => {
                if let Some(reason) = event.pointer("/delta/stop_reason").and_then(Value::as_str) {
                    self.stop_reason = Some(reason.to_owned());
                }
                self.take_refusal(event.get("delta"));
                self.take_usage(event.get("usage"));
                Ok(vec![ModelEvent::Heartbeat])
            }
            "message_stop" => {
                self.stopped = true;
                Ok(Vec::new())
            }
            "error" => Err(self.reported(&event)),
            // The API reserves the right to add events; `ping` is one of those without content.
            _ if failure::provider_error(&event, false).is_some() => Err(self.reported(&event)),
            _ => Ok(vec![ModelEvent::Heartbeat]),
        }
    }

    fn whole(&mut self, body: &Value) -> Result<Vec<ModelEvent>, Failure> {
        if failure::provider_error(body, false).is_some() {
            return Err(self.reported(body));
        }
        let Some(content) = body.get("content").and_then(Value::as_array) else {
            return Err(self.unexpected("a message", &body.to_string()));
        };
        let mut events = Vec::new();
        for (index, block) in content.iter().enumerate() {
            if let Some(text) = block.get("text").and_then(Value::as_str)
                && is_kind(block, "text")
                && !text.is_empty()
            {
                events.push(ModelEvent::TextDelta(text.to_owned()));
            }
            self.blocks.insert(
                index as u64,
                Block {
                    raw: block.clone(),
                    closed: true,
                    ..Block::default()
                },
            );
        }
        self.take_usage(body.get("usage"));
        take_model(Some(body), "model", &mut self.model);
        self.take_refusal(Some(body));
        self.stop_reason = body
            .get("stop_reason")
            .and_then(Value::as_str)
            .map(str::to_owned);
        self.stopped = self.stop_reason.is_some();
        Ok(events)
    }

    fn finish(self, sent_bytes: usize) -> Result<ModelAnswer, Failure> {
        if !self.stopped {
            return Err(self.failure(
                ModelErrorKind::Disconnected,
                "the answer ended without message_stop",
            ));
        }
        let counted = self.counted();
        let cut_off = matches!(
            self.stop_reason.as_deref(),
            Some("max_tokens" | "model_context_window_exceeded")
        );
        let mut text = String::new();
        let mut tool_calls: Vec<ModelToolCall> = Vec::new();
        let mut content: Vec<Value> = Vec::new();
        // A paused answer goes on only from exactly what it was.
        let mut needs_replay = self.stop_reason.as_deref() == Some("pause_turn");
        let last = self.blocks.keys().next_back().copied();
        for (index, block) in self.blocks {
            if is_kind(&block.raw, "text") {
                text.push_str(block.raw.get("text").and_then(Value::as_str).unwrap_or(""));
                content.push(block.raw);
                continue;
            }
            if !is_kind(&block.raw, "tool_use") {
                // Unclosed foreign blocks cannot be sent back.
                if block.closed {
                    needs_replay = true;
                    content.push(close(block));
                }
                continue;
            }
            let args = read_args(&block, cut_off && Some(index) == last);
            let local = self.first_local_id + tool_calls.len();
            let (id, name) = (word(&block.raw, "id"), word(&block.raw, "name"));
            add_call(&mut tool_calls, id, local, name, args.clone());
            let mut raw = block.raw;
            if let Some(object) = raw.as_object_mut() {
                let id = tool_calls.last().map(|call| call.provider_call_id.as_str());
                object.insert("id".to_owned(), json!(id));
                let input = args.unwrap_or_else(|_| Value::Object(Map::new()));
                object.insert("input".to_owned(), input);
            }
            content.push(raw);
        }
        let (usage, notes) = measured(counted, sent_bytes, || {
            content.iter().map(|block| block.to_string().len()).sum()
        });
        let stop = match self.stop_reason.as_deref() {
            Some("max_tokens" | "model_context_window_exceeded") => StopReason::MaxTokens,
            Some("refusal") => self
                .refused_for
                .map_or(StopReason::Refusal, StopReason::RefusedFor),
            Some("pause_turn") if tool_calls.is_empty() => StopReason::Paused,
            Some("pause_turn") => StopReason::ToolUse,
            Some("tool_use" | "end_turn" | "stop_sequence") | None => {
                if tool_calls.is_empty() {
                    StopReason::EndTurn
                } else {
                    StopReason::ToolUse
                }
            }
            Some(other) => StopReason::Other(excerpt(other)),
        };
        Ok(ModelAnswer {
            text,
            tool_calls,
            stop,
            model: self.model,
            usage,
            native: needs_replay.then(|| NativeBlocks {
                family: FAMILY.to_owned(),
                content: Value::Array(content),
            }),
            notes,
        })
    }

    fn counted(&self) -> Option<Usage> {
        believed(self.usage())
    }
}

fn append(block: &mut Value, field: &str, more: &str) {
    if let Some(object) = block.as_object_mut() {
        match object.get_mut(field) {
            Some(Value::String(text)) => text.push_str(more),
            Some(_) | None => {
                object.insert(field.to_owned(), json!(more));
            }
        }
    }
}

/// A block of a kind we do not know, with its streamed input (server tools stream theirs, too).
fn close(block: Block) -> Value {
    let mut raw = block.raw;
    if !block.args.text().is_empty()
        && let Ok(input) = surrogates::parse(block.args.text())
        && let Some(object) = raw.as_object_mut()
    {
        object.insert("input".to_owned(), input);
    }
    raw
}

fn read_args(block: &Block, may_be_cut_off: bool) -> Result<Value, MalformedArgs> {
    let text = block.args.text();
    if !block.closed {
        return Err(malformed(text, "the answer ended inside the arguments"));
    }
    if let Some(oversize) = block.args.oversize() {
        return Err(oversize);
    }
    if !text.trim().is_empty() {
        return parse_args(text, may_be_cut_off);
    }
    match block.raw.get("input") {
        Some(input @ Value::Object(object)) if !object.is_empty() => Ok(input.clone()),
        Some(Value::Object(_) | Value::Null) | None => no_args(text, may_be_cut_off),
        Some(_) => Err(no_object(text)),
    }
}
