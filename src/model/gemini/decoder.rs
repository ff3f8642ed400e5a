//! Chunks of `streamGenerateContent` → events. Pure: no I/O, no time.
//!
//! No answer is complete without a `finishReason`, or the reason for which the request was blocked. Signed parts stay
//! as they came, beside unsigned ones, empty text included; only unsigned text is joined.
//! Format: <https://ai.google.dev/api/generate-content>.

use std::time::Duration;

use serde_json::{Value, json};

use crate::model::decode::{Decode, Ending, Progress, believed, measured, set_count, take_model};
use crate::model::failure::{self, Failure, excerpt};
use crate::model::gemini::parts::{
    Part, SIGNATURE, calls, is_refusal, is_thought, must_be_replayed, useless,
};
use crate::model::request::{ModelAnswer, ModelErrorKind, ModelEvent, StopReason};
use crate::protocol::session::{NativeBlocks, Usage};

/// The family of these native blocks.
pub const FAMILY: &str = "gemini";
/// Most parts of one answer; more is a server gone wrong.
const MAX_PARTS: usize = 2048;

#[derive(Debug, Default, Clone, Copy)]
struct Counts {
    prompt: u64,
    tool_prompt: u64,
    candidates: u64,
    thoughts: u64,
    cached: u64,
}

/// The state of one answer.
#[derive(Debug, Default)]
pub struct Decoder {
    text: String,
    parts: Vec<Part>,
    chunks: usize,
    counts: Counts,
    model: Option<String>,
    finish: Option<String>,
    finish_message: String,
    ending: Ending,
    blocked: bool,
    retry_after: Option<Duration>,
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

    /// Whether a reason for the end came. More may follow it: usage, and a signature.
    pub fn is_finishing(&self) -> bool {
        self.ending.is_finishing() || self.blocked
    }

    fn chunk(&mut self, chunk: &Value) -> Result<Vec<ModelEvent>, Failure> {
        self.take_usage(chunk.get("usageMetadata"));
        if let Some(error) = failure::provider_error(chunk, false) {
            self.retry_after = error.retry_after;
            return Err(self.reported(chunk));
        }
        if !chunk.is_object() {
            return Err(self.unexpected("a JSON object", &chunk.to_string()));
        }
        self.chunks += 1;
        take_model(Some(chunk), "modelVersion", &mut self.model);
        let mut events = Vec::new();
        let candidate = chunk.get("candidates").and_then(|list| list.get(0));
        match candidate {
            Some(candidate) => self.take_candidate(candidate, &mut events)?,
            None => self.take_feedback(chunk.get("promptFeedback"), &mut events),
        }
        if events.is_empty() {
            events.push(ModelEvent::Heartbeat);
        }
        Ok(events)
    }

    /// Snapshots, not increments: each field that is present replaces the one before.
    fn take_usage(&mut self, usage: Option<&Value>) {
        let Some(usage) = usage else { return };
        let counts = &mut self.counts;
        set_count(usage, "promptTokenCount", &mut counts.prompt);
        set_count(usage, "toolUsePromptTokenCount", &mut counts.tool_prompt);
        set_count(usage, "candidatesTokenCount", &mut counts.candidates);
        set_count(usage, "thoughtsTokenCount", &mut counts.thoughts);
        set_count(usage, "cachedContentTokenCount", &mut counts.cached);
    }

    fn take_candidate(
        &mut self,
        candidate: &Value,
        events: &mut Vec<ModelEvent>,
    ) -> Result<(), Failure> {
        let parts = candidate.pointer("/content/parts");
        let mut has_content = false;
        for part in parts.and_then(Value::as_array).into_iter().flatten() {
            has_content |= self.take_part(part, events)?;
        }
        let reason = candidate.get("finishReason").and_then(Value::as_str);
        let reason = reason.filter(|reason| !matches!(*reason, "" | "FINISH_REASON_UNSPECIFIED"));
        self.ending.take(has_content, reason.is_some());
        if let Some(reason) = reason {
            // Some models say STOP on every chunk; that must not soften what came before it.
            if self.finish.is_none() || self.finish.as_deref() == Some("STOP") {
                self.finish = Some(reason.to_owned());
            }
            if let Some(words) = candidate.get("finishMessage").and_then(Value::as_str) {
                words.clone_into(&mut self.finish_message);
            }
            if is_refusal(reason) {
                self.say_blocked("the provider stopped the answer", reason, events);
            }
        }
        Ok(())
    }

    /// The request itself was refused: there is no candidate, and nothing else says so.
    fn take_feedback(&mut self, feedback: Option<&Value>, events: &mut Vec<ModelEvent>) {
        let word = |name: &str| feedback.and_then(|feedback| feedback.get(name)?.as_str());
        if let Some(reason) = word("blockReason")
            && reason != "BLOCK_REASON_UNSPECIFIED"
        {
            let told = word("blockReasonMessage").unwrap_or_default();
            told.clone_into(&mut self.finish_message);
            self.say_blocked("the provider blocked the request", reason, events);
        }
    }

    /// A refusal never looks like an empty or a whole answer. Said once.
    fn say_blocked(&mut self, what: &str, reason: &str, events: &mut Vec<ModelEvent>) {
        if self.blocked {
            return;
        }
        self.blocked = true;
        let space = if self.text.is_empty() { "" } else { "\n\n" };
        let told = if self.finish_message.is_empty() {
            String::new()
        } else {
            format!(": {}", excerpt(&self.finish_message))
        };
        let words = format!("{space}[{what} ({}){told}]", excerpt(reason));
        self.text.push_str(&words);
        events.push(ModelEvent::TextDelta(words));
    }

    /// Whether the part has text or a call that is new.
    fn take_part(&mut self, part: &Value, events: &mut Vec<ModelEvent>) -> Result<bool, Failure> {
        let signed = part.get(SIGNATURE).is_some();
        let mut has_content = !signed;
        if part.get("functionCall").is_some() {
            if self.is_repeated(part) {
                return Ok(false);
            }
            has_content = true;
        } else if let Some(text) = part.get("text").and_then(Value::as_str) {
            let thought = is_thought(part);
            has_content = !text.is_empty();
            if !thought && !text.is_empty() {
                self.text.push_str(text);
                events.push(ModelEvent::TextDelta(text.to_owned()));
            }
            if !signed {
                if text.is_empty() {
                    return Ok(false);
                }
                if let Some(last) = self.parts.last_mut()
                    && !last.is_signed()
                    && is_thought(&last.raw) == thought
                    && let Some(Value::String(whole)) = last.raw.get_mut("text")
                {
                    whole.push_str(text);
                    return Ok(true);
                }
            }
        }
        if self.parts.len() >= MAX_PARTS {
            return Err(self.too_many(MAX_PARTS, "parts"));
        }
        self.parts.push(Part {
            raw: part.clone(),
            chunk: self.chunks,
        });
        Ok(has_content)
    }

    /// Later chunks can repeat a call that has come, usually without its signature. Two equal calls of one chunk are
    /// two; so are calls with different ids.
    fn is_repeated(&mut self, part: &Value) -> bool {
        let call = &part["functionCall"];
        let chunk = self.chunks;
        let earlier = self.parts.iter_mut().find(|earlier| {
            let before = &earlier.raw["functionCall"];
            earlier.chunk != chunk
                && before.is_object()
                && before["name"] == call["name"]
                && before["args"] == call["args"]
                && (call["id"].is_null() || before["id"] == call["id"])
        });
        let Some(earlier) = earlier else { return false };
        if !earlier.is_signed() && part.get(SIGNATURE).is_some() {
            earlier.raw = part.clone();
        }
        true
    }

    fn usage(&self) -> Usage {
        let counts = self.counts;
        Usage {
            input_tokens: counts.prompt + counts.tool_prompt,
            output_tokens: counts.candidates + counts.thoughts,
            cached_input_tokens: counts.cached,
            ..Usage::default()
        }
    }
}

impl Decode for Decoder {
    fn progress(&self) -> Progress {
        if self.is_finishing() {
            Progress::Finishing
        } else {
            Progress::Open
        }
    }

    fn data(&mut self, data: &str) -> Result<Vec<ModelEvent>, Failure> {
        let data = data.trim();
        // Not Google's, but that of proxies in front of it.
        if data == "[DONE]" {
            return Ok(Vec::new());
        }
        let chunk: Value = self.parse(data)?;
        self.chunk(&chunk)
    }

    fn whole(&mut self, body: &Value) -> Result<Vec<ModelEvent>, Failure> {
        let mut events = Vec::new();
        match body {
            Value::Array(chunks) => {
                for chunk in chunks {
                    events.extend(self.chunk(chunk)?);
                }
            }
            body => events = self.chunk(body)?,
        }
        if body.is_object() && body.get("candidates").is_none() && !self.blocked {
            return Err(self.unexpected("an answer", &body.to_string()));
        }
        Ok(events)
    }

    fn finish(self, sent_bytes: usize) -> Result<ModelAnswer, Failure> {
        if !(self.ending.is_named() || self.blocked) {
            return Err(self.failure(
                ModelErrorKind::Disconnected,
                "the answer ended without a finishReason",
            ));
        }
        let reason = self.finish.clone().unwrap_or_default();
        if let Some((kind, why)) = useless(&reason, self.text.is_empty()) {
            let told = excerpt(&self.finish_message);
            let told = if told.is_empty() {
                told
            } else {
                format!(": {told}")
            };
            return Err(self.failure(
                kind,
                format!("it ended the answer with {}, {why}{told}", excerpt(&reason)),
            ));
        }
        let (usage, notes) = measured(self.counted(), sent_bytes, || {
            let parts = self.parts.iter();
            parts.map(|part| part.raw.to_string().len()).sum()
        });
        let model = self.model;
        let stopped_short = |stop: StopReason, text: String| ModelAnswer {
            text,
            tool_calls: Vec::new(),
            stop,
            model: model.clone(),
            usage,
            native: None,
            notes: notes.clone(),
        };
        // What a filter stopped is neither run nor sent back.
        if self.blocked {
            return Ok(stopped_short(StopReason::Refusal, self.text));
        }
        if matches!(reason.as_str(), "OTHER" | "MALFORMED_RESPONSE") {
            return Ok(stopped_short(StopReason::Other(reason), self.text));
        }
        let cut_off = reason == "MAX_TOKENS";
        let (parts, tool_calls) = calls(self.parts, cut_off, self.first_local_id);
        let stop = match reason.as_str() {
            "MAX_TOKENS" => StopReason::MaxTokens,
            _ if !tool_calls.is_empty() => StopReason::ToolUse,
            "STOP" => StopReason::EndTurn,
            other => StopReason::Other(excerpt(other)),
        };
        let native = parts.iter().any(must_be_replayed).then(|| NativeBlocks {
            family: FAMILY.to_owned(),
            content: json!({
                "role": "model",
                "parts": parts,
                // Ours; not part of what goes back.
                "call_ids": tool_calls
                    .iter()
                    .map(|call| call.provider_call_id.as_str())
                    .collect::<Vec<_>>(),
            }),
        });
        Ok(ModelAnswer {
            text: self.text,
            tool_calls,
            stop,
            model,
            usage,
            native,
            notes,
        })
    }

    fn counted(&self) -> Option<Usage> {
        believed(self.usage())
    }

    fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }
}
