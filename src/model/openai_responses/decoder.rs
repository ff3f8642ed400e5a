//! Responses API events → our events. Pure: no I/O, no time.
//!
//! No answer is complete without `response.completed` or `response.incomplete`, and no call is complete without the
//! closing form of its item: deltas only show progress, `output_item.done` is the truth.
//! Format: <https://platform.openai.com/docs/api-reference/responses-streaming>.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::model::decode::{
    Decode, Progress, add_call, is_kind, measured, reported_cost, take_model, word,
};
use crate::model::failure::{self, Failure, excerpt};
use crate::model::openai_responses::items::{
    End, Item, arguments_of, has_content, has_id, has_more_than, read_args, text_of,
};
use crate::model::request::{ModelAnswer, ModelErrorKind, ModelEvent, ModelToolCall, StopReason};
use crate::protocol::session::{NativeBlocks, Usage};

/// The family of these native blocks.
pub const FAMILY: &str = "openai-responses";
/// Most output items of one answer.
const MAX_ITEMS: usize = 512;
/// What we can say ourselves about a message and about a call; an item with more must be sent back as it came.
const MESSAGE_FIELDS: &[&str] = &["type", "id", "role", "status", "content"];
const CALL_FIELDS: &[&str] = &["type", "id", "call_id", "name", "arguments", "status"];

/// The state of one answer.
#[derive(Debug, Default)]
pub struct Decoder {
    items: BTreeMap<u64, Item>,
    text: String,
    refused: bool,
    model: Option<String>,
    end: Option<End>,
    usage: Option<Usage>,
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

    /// Whether a terminal event of a successful answer came.
    pub fn is_complete(&self) -> bool {
        self.end.is_some()
    }

    /// The place of the item that an event is about. Servers that leave out `output_index` name the item's id, or
    /// write one item after the other.
    fn index_of(&self, event: &Value) -> u64 {
        if let Some(index) = event.get("output_index").and_then(Value::as_u64) {
            return index;
        }
        let id = match event.get("item") {
            Some(item) => word(item, "id"),
            None => word(event, "item_id"),
        };
        let known = self.items.iter().find(|(_, item)| has_id(&item.raw, id));
        let last = self.items.keys().next_back().copied();
        match (known, last) {
            (Some((index, _)), _) => *index,
            (None, Some(last)) if is_kind(event, "response.output_item.added") => {
                last.saturating_add(1)
            }
            (None, last) => last.unwrap_or(0),
        }
    }

    fn item(&mut self, event: &Value) -> Result<&mut Item, Failure> {
        self.item_at(self.index_of(event))
    }

    fn item_at(&mut self, index: u64) -> Result<&mut Item, Failure> {
        if self.items.len() >= MAX_ITEMS && !self.items.contains_key(&index) {
            return Err(self.too_many(MAX_ITEMS, "output items"));
        }
        Ok(self.items.entry(index).or_default())
    }

    /// Sends visible text on; a blank line stands between two messages of one answer.
    fn show(
        &mut self,
        index: u64,
        more: &str,
        events: &mut Vec<ModelEvent>,
    ) -> Result<(), Failure> {
        let item = self.item_at(index)?;
        if more.is_empty() {
            return Ok(());
        }
        let opens = item.shown.is_empty();
        item.shown.push_str(more);
        let text = if opens && !self.text.is_empty() {
            format!("\n\n{more}")
        } else {
            more.to_owned()
        };
        self.text.push_str(&text);
        events.push(ModelEvent::TextDelta(text));
        Ok(())
    }

    /// Takes the closing form of an item: it replaces what was streamed, and what it leaves out stays.
    fn close(
        &mut self,
        index: u64,
        whole: &Value,
        events: &mut Vec<ModelEvent>,
    ) -> Result<(), Failure> {
        let item = self.item_at(index)?;
        let opened = std::mem::replace(&mut item.raw, whole.clone());
        if let (Value::Object(fields), Value::Object(opened)) = (&mut item.raw, opened) {
            for (name, value) in opened {
                fields.entry(name).or_insert(value);
            }
        }
        item.closed = true;
        if !is_kind(whole, "message") {
            return Ok(());
        }
        let (text, refused) = text_of(whole);
        self.refused |= refused;
        // What was shown cannot be taken back; what was not streamed is shown now.
        let rest = self.items[&index].shown.len();
        if text.starts_with(&self.items[&index].shown) {
            self.show(index, &text[rest..], events)?;
        }
        Ok(())
    }

    /// Takes the response object of a terminal event, whose own status counts for more than the event's name.
    fn finished(
        &mut self,
        kind: &str,
        response: &Value,
        events: &mut Vec<ModelEvent>,
    ) -> Result<(), Failure> {
        self.take_usage(response.get("usage"));
        take_model(Some(response), "model", &mut self.model);
        let status = word(response, "status");
        if matches!(kind, "response.failed" | "response.cancelled")
            || matches!(status, "failed" | "cancelled")
        {
            return Err(match response.get("error") {
                Some(Value::Object(_)) => self.reported(response),
                Some(_) | None => self.failure(
                    ModelErrorKind::Overloaded,
                    format!("it ended the answer as {}", excerpt(status)),
                ),
            });
        }
        for (index, whole) in (0..).zip(response["output"].as_array().into_iter().flatten()) {
            let id = word(whole, "id");
            let index = self
                .items
                .iter()
                .find(|(_, item)| has_id(&item.raw, id))
                .map_or(index, |(index, _)| *index);
            if !self.items.get(&index).is_some_and(|item| item.closed) {
                self.close(index, whole, events)?;
            }
        }
        self.end = Some(if kind == "response.incomplete" || status == "incomplete" {
            let reason = response.pointer("/incomplete_details/reason");
            End::Incomplete(
                reason
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .to_owned(),
            )
        } else {
            End::Completed
        });
        Ok(())
    }

    fn take_usage(&mut self, usage: Option<&Value>) {
        let Some(usage) = usage.filter(|usage| usage.is_object()) else {
            return;
        };
        let count = |path: &str| usage.pointer(path).and_then(Value::as_u64).unwrap_or(0);
        // Reasoning tokens are part of the output, cached ones of the input.
        self.usage = Some(Usage {
            input_tokens: count("/input_tokens"),
            output_tokens: count("/output_tokens"),
            cached_input_tokens: count("/input_tokens_details/cached_tokens"),
            cache_write_tokens: count("/input_tokens_details/cache_write_tokens"),
            cost_usd: reported_cost(usage),
        });
    }

    /// Adds a call, and gives the item to send back for it: under our id where the server's is missing or taken, and
    /// without arguments that are none.
    fn call(&self, item: &Item, end: &End, calls: &mut Vec<ModelToolCall>) -> Value {
        let name = word(&item.raw, "name");
        let args = read_args(item, end);
        let usable = args.is_ok();
        let local = self.first_local_id + calls.len();
        add_call(calls, word(&item.raw, "call_id"), local, name, args);
        let id = calls.last().map(|call| call.provider_call_id.as_str());
        if !usable {
            return json!({"type": "function_call", "call_id": id, "name": name, "arguments": "{}"});
        }
        let mut raw = item.raw.clone();
        if let Some(fields) = raw.as_object_mut() {
            fields.insert("call_id".to_owned(), json!(id));
            if !fields.get("arguments").is_some_and(Value::is_string) {
                let args = arguments_of(item).to_string();
                fields.insert("arguments".to_owned(), json!(args));
            }
        }
        raw
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
        let data = data.trim();
        if data == "[DONE]" {
            return Err(self.failure(
                ModelErrorKind::Disconnected,
                "the server said [DONE] without response.completed",
            ));
        }
        let event: Value = self.parse(data)?;
        let mut events = Vec::new();
        let kind = word(&event, "type");
        match kind {
            "response.output_item.added" => {
                let item = self.item(&event)?;
                if !item.closed {
                    item.raw = event["item"].clone();
                }
            }
            "response.output_item.done" => {
                let index = self.index_of(&event);
                self.close(index, &event["item"], &mut events)?;
            }
            "response.output_text.delta" | "response.refusal.delta" => {
                self.refused |= kind == "response.refusal.delta";
                let index = self.index_of(&event);
                self.show(index, word(&event, "delta"), &mut events)?;
            }
            "response.function_call_arguments.delta" => {
                let part = word(&event, "delta");
                self.item(&event)?.args.push(part);
            }
            "response.function_call_arguments.done" => {
                let item = self.item(&event)?;
                let whole = word(&event, "arguments");
                if !whole.is_empty() {
                    item.args.replace(whole);
                }
            }
            "response.completed"
            | "response.incomplete"
            | "response.failed"
            | "response.cancelled" => {
                self.finished(kind, &event["response"], &mut events)?;
            }
            "error" => return Err(self.reported(&event)),
            _ if failure::provider_error(&event, false).is_some() => {
                return Err(self.reported(&event));
            }
            // The API adds kinds of events: each is a sign of life. Usage may come early.
            _ => self.take_usage(event.pointer("/response/usage")),
        }
        if events.is_empty() && !self.is_complete() {
            events.push(ModelEvent::Heartbeat);
        }
        Ok(events)
    }

    fn whole(&mut self, body: &Value) -> Result<Vec<ModelEvent>, Failure> {
        if failure::provider_error(body, false).is_some() && word(body, "status").is_empty() {
            return Err(self.reported(body));
        }
        let kind = match word(body, "status") {
            "completed" => "response.completed",
            "incomplete" => "response.incomplete",
            "failed" | "cancelled" => "response.failed",
            status => {
                return Err(self.failure(
                    ModelErrorKind::Protocol,
                    format!(
                        "expected a complete response, got one with status {status:?}: {}",
                        excerpt(&body.to_string())
                    ),
                ));
            }
        };
        let mut events = Vec::new();
        self.finished(kind, body, &mut events)?;
        Ok(events)
    }

    fn finish(mut self, sent_bytes: usize) -> Result<ModelAnswer, Failure> {
        let Some(end) = self.end.take() else {
            return Err(self.failure(
                ModelErrorKind::Disconnected,
                "the answer ended without response.completed",
            ));
        };
        let mut tool_calls: Vec<ModelToolCall> = Vec::new();
        let mut content: Vec<Value> = Vec::new();
        let mut needs_replay = false;
        let mut written = self.text.len();
        for item in std::mem::take(&mut self.items).into_values() {
            written += item.args.text().len();
            match word(&item.raw, "type") {
                "function_call" => {
                    let raw = self.call(&item, &end, &mut tool_calls);
                    needs_replay |= has_more_than(&raw, CALL_FIELDS);
                    content.push(raw);
                }
                "message" if item.closed => {
                    needs_replay |= has_more_than(&item.raw, MESSAGE_FIELDS);
                    content.push(item.raw);
                }
                // A message that was cut: what of it was shown.
                "message" | "" if !item.shown.is_empty() => content
                    .push(json!({"type": "message", "role": "assistant", "content": item.shown})),
                "reasoning" => {
                    needs_replay |= item.closed && has_content(&item.raw);
                    content.extend(item.closed.then_some(item.raw));
                }
                "message" | "" => {}
                // What the server did by itself; unclosed it cannot be sent back.
                _ if item.closed => {
                    needs_replay = true;
                    content.push(item.raw);
                }
                _ => {}
            }
        }
        let (usage, notes) = measured(self.usage, sent_bytes, || written);
        let stop = match end {
            End::Incomplete(reason) if reason == "content_filter" => StopReason::Refusal,
            End::Incomplete(_) => StopReason::MaxTokens,
            End::Completed if !tool_calls.is_empty() => StopReason::ToolUse,
            End::Completed if self.refused => StopReason::Refusal,
            End::Completed => StopReason::EndTurn,
        };
        Ok(ModelAnswer {
            text: self.text,
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
        self.usage
    }
}
