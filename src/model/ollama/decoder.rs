//! Lines of Ollama's `/api/chat` → events. Pure: no I/O, no time.
//!
//! No answer is complete without a line that says `done`, and no call runs unless its arguments are a whole JSON
//! object. One line can carry thinking, text and several calls.
//! Format: <https://docs.ollama.com/api/chat>.

use serde_json::{Value, json};

use crate::model::decode::{
    Decode, MAX_CALLS, Progress, add_call, believed, measured, no_args, no_object, parse_args,
    take_model, word,
};
use crate::model::failure::{self, Failure, excerpt};
use crate::model::request::{
    MalformedArgs, ModelAnswer, ModelErrorKind, ModelEvent, ModelToolCall, StopReason,
};
use crate::protocol::session::{NativeBlocks, Usage};

/// The family of these native blocks.
pub const FAMILY: &str = "ollama";
/// Below this many tokens an estimate says nothing about what the server cut.
const LEAST_JUDGED_TOKENS: u64 = 1_000;

#[derive(Debug)]
struct Call {
    id: String,
    name: String,
    args: Value,
}

/// The state of one answer.
#[derive(Debug, Default)]
pub struct Decoder {
    text: String,
    thinking: String,
    calls: Vec<Call>,
    model: Option<String>,
    done: Option<String>,
    input: Option<u64>,
    output: Option<u64>,
    first_local_id: usize,
    notes: Vec<String>,
}

impl Decoder {
    /// A decoder whose made-up call ids start at `call_local_<first_local_id>`.
    pub fn new(first_local_id: usize) -> Self {
        Self {
            first_local_id,
            ..Self::default()
        }
    }

    /// Adds what an operator should know about the answer.
    pub fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    /// Whether a line said `done`.
    pub fn is_complete(&self) -> bool {
        self.done.is_some()
    }

    fn value(&mut self, value: &Value) -> Result<Vec<ModelEvent>, Failure> {
        if failure::provider_error(value, false).is_some() {
            return Err(self.reported(value));
        }
        if !value.is_object() {
            return Err(self.unexpected("a JSON object", &value.to_string()));
        }
        take_model(Some(value), "model", &mut self.model);
        let count = |name: &str| value.get(name).and_then(Value::as_u64).filter(|n| *n > 0);
        self.input = count("prompt_eval_count").or(self.input);
        self.output = count("eval_count").or(self.output);
        let mut events = Vec::new();
        if let Some(message) = value.get("message") {
            let word = |name: &str| word(message, name);
            self.thinking.push_str(word("thinking"));
            if !word("content").is_empty() {
                self.text.push_str(word("content"));
                events.push(ModelEvent::TextDelta(word("content").to_owned()));
            }
            let calls = message.get("tool_calls").and_then(Value::as_array);
            for call in calls.into_iter().flatten() {
                self.take_call(call)?;
            }
        }
        if value.get("done").and_then(Value::as_bool) == Some(true) {
            let reason = value.get("done_reason").and_then(Value::as_str);
            self.done = Some(reason.unwrap_or("stop").to_owned());
        }
        if events.is_empty() {
            events.push(ModelEvent::Heartbeat);
        }
        Ok(events)
    }

    fn take_call(&mut self, call: &Value) -> Result<(), Failure> {
        if self.calls.len() >= MAX_CALLS {
            return Err(self.too_many(MAX_CALLS, "tool calls"));
        }
        let function = call.get("function").unwrap_or(call);
        self.calls.push(Call {
            id: word(call, "id").to_owned(),
            name: word(function, "name").to_owned(),
            args: function.get("arguments").cloned().unwrap_or(Value::Null),
        });
        Ok(())
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

    fn data(&mut self, line: &str) -> Result<Vec<ModelEvent>, Failure> {
        let value: Value = self.parse(line)?;
        self.value(&value)
    }

    fn whole(&mut self, body: &Value) -> Result<Vec<ModelEvent>, Failure> {
        let events = self.value(body)?;
        if !self.is_complete() {
            return Err(self.unexpected("a whole answer", &body.to_string()));
        }
        Ok(events)
    }

    fn finish(self, sent_bytes: usize) -> Result<ModelAnswer, Failure> {
        let Some(reason) = self.done.clone() else {
            return Err(self.failure(
                ModelErrorKind::Disconnected,
                "the answer ended without a line that says done",
            ));
        };
        if matches!(reason.as_str(), "load" | "unload")
            && self.text.is_empty()
            && self.calls.is_empty()
        {
            return Err(self.failure(
                ModelErrorKind::Unusable,
                format!("it only said that the model was {reason}ed, and gave no answer"),
            ));
        }
        let cut_off = reason == "length";
        let estimate = (sent_bytes as u64).div_ceil(4);
        let counted = self.counted();
        let (guess, estimated) = measured(None, sent_bytes, || {
            let args = self.calls.iter().map(|call| call.args.to_string().len());
            self.text.len() + self.thinking.len() + args.sum::<usize>()
        });
        // One of the two counts may be missing.
        let usage = Usage {
            input_tokens: self.input.unwrap_or(guess.input_tokens),
            output_tokens: self.output.unwrap_or(guess.output_tokens),
            ..Usage::default()
        };
        let mut notes = self.notes;
        notes.extend(estimated.into_iter().filter(|_| counted.is_none()));
        notes.extend(self.input.and_then(|read| cut_context(read, estimate)));
        let last = self.calls.len().checked_sub(1);
        let mut tool_calls: Vec<ModelToolCall> = Vec::new();
        for (position, call) in self.calls.into_iter().enumerate() {
            let args = read_args(call.args, cut_off && Some(position) == last);
            let local = self.first_local_id + position;
            add_call(&mut tool_calls, &call.id, local, &call.name, args);
        }
        // The reason does not know about calls: it says `stop` beside them.
        let stop = match reason.as_str() {
            "length" => StopReason::MaxTokens,
            _ if !tool_calls.is_empty() => StopReason::ToolUse,
            "stop" | "load" | "unload" => StopReason::EndTurn,
            other => StopReason::Other(excerpt(other)),
        };
        // Models that think between calls want to read their thoughts again beside the results.
        let native = (!self.thinking.is_empty() && !tool_calls.is_empty()).then(|| NativeBlocks {
            family: FAMILY.to_owned(),
            content: json!({"thinking": self.thinking}),
        });
        Ok(ModelAnswer {
            text: self.text,
            tool_calls,
            stop,
            model: self.model,
            usage,
            native,
            notes,
        })
    }

    fn counted(&self) -> Option<Usage> {
        believed(Usage {
            input_tokens: self.input.unwrap_or(0),
            output_tokens: self.output.unwrap_or(0),
            ..Usage::default()
        })
    }
}

/// The server does not say when it drops the beginning of what it was sent.
fn cut_context(read: u64, estimate: u64) -> Option<String> {
    (estimate >= LEAST_JUDGED_TOKENS && read.saturating_mul(2) < estimate).then(|| {
        format!(
            "the server cut the context: it read {read} tokens of about {estimate} that were sent; the model's own \
             window is smaller than the provider's context_window, or the server does not grant it"
        )
    })
}

fn read_args(args: Value, may_be_cut_off: bool) -> Result<Value, MalformedArgs> {
    let args = match args {
        // Servers that only look like Ollama send the text of the object.
        Value::String(text) if text.trim() == "null" => Value::Null,
        Value::String(text) => parse_args(&text, false)?,
        other => other,
    };
    match args {
        Value::Null => no_args("", may_be_cut_off),
        Value::Object(object) if object.is_empty() => no_args("{}", may_be_cut_off),
        object @ Value::Object(_) => Ok(object),
        other => Err(no_object(&other.to_string())),
    }
}
