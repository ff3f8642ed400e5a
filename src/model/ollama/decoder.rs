//! Lines of Ollama's `/api/chat` → events. Pure: no I/O, no time.
//!
//! No answer is complete without a line that says `done`, and no call runs unless its arguments are a whole JSON
//! object. One line can carry thinking, text and several calls.
//! Format: <https://docs.ollama.com/api/chat>.

use serde_json::{Map, Value, json};

use crate::model::exchange::{Decode, ESTIMATED, Progress, estimated};
use crate::model::failure::{self, Failure, excerpt};
use crate::model::request::{
    MalformedArgs, ModelAnswer, ModelErrorKind, ModelEvent, ModelToolCall, StopReason, TokenCount,
};
use crate::model::surrogates;
use crate::protocol::session::{NativeBlocks, Usage};

/// The family of these native blocks.
pub const FAMILY: &str = "ollama";
/// Most calls in one answer; more is a server gone wrong.
const MAX_CALLS: usize = 128;
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

    /// Takes one line.
    pub fn line(&mut self, line: &str) -> Result<Vec<ModelEvent>, Failure> {
        let value: Value = surrogates::parse(line).map_err(|error| {
            self.failure(
                ModelErrorKind::Protocol,
                format!("expected a line of JSON ({error}), got: {}", excerpt(line)),
            )
        })?;
        self.value(&value)
    }

    /// Takes an answer that came as one JSON body.
    pub fn whole(&mut self, body: &Value) -> Result<Vec<ModelEvent>, Failure> {
        let events = self.value(body)?;
        if !self.is_complete() {
            return Err(self.failure(
                ModelErrorKind::Protocol,
                format!(
                    "expected a whole answer, got: {}",
                    excerpt(&body.to_string())
                ),
            ));
        }
        Ok(events)
    }

    fn value(&mut self, value: &Value) -> Result<Vec<ModelEvent>, Failure> {
        if let Some(error) = failure::provider_error(value, false) {
            return Err(self.failure(
                failure::classify_in_band(&error),
                format!("it reported an error: {}", excerpt(&error.message)),
            ));
        }
        if !value.is_object() {
            return Err(self.failure(
                ModelErrorKind::Protocol,
                format!(
                    "expected a JSON object, got: {}",
                    excerpt(&value.to_string())
                ),
            ));
        }
        let count = |name: &str| value.get(name).and_then(Value::as_u64).filter(|n| *n > 0);
        self.input = count("prompt_eval_count").or(self.input);
        self.output = count("eval_count").or(self.output);
        let mut events = Vec::new();
        if let Some(message) = value.get("message") {
            let word = |name: &str| message.get(name).and_then(Value::as_str).unwrap_or("");
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
            return Err(self.failure(
                ModelErrorKind::Protocol,
                format!("more than {MAX_CALLS} tool calls in one answer"),
            ));
        }
        let function = call.get("function").unwrap_or(call);
        let word = |of: &Value, name: &str| {
            let word = of.get(name).and_then(Value::as_str);
            word.unwrap_or("").to_owned()
        };
        self.calls.push(Call {
            id: word(call, "id"),
            name: word(function, "name"),
            args: function.get("arguments").cloned().unwrap_or(Value::Null),
        });
        Ok(())
    }

    fn failure(&self, kind: ModelErrorKind, what: String) -> Failure {
        let (input, output) = (self.input.unwrap_or(0), self.output.unwrap_or(0));
        Failure {
            kind,
            what,
            usage: (input + output > 0).then_some(TokenCount { input, output }),
        }
    }

    /// The answer, once the stream has ended. `sent_bytes` is the size of the request: where the server reports no
    /// usage, tokens are estimated (four bytes each), so that a budget still counts; where it reports far less than
    /// that, a note says so.
    pub fn finish(self, sent_bytes: usize) -> Result<ModelAnswer, Failure> {
        let Some(reason) = self.done.clone() else {
            return Err(self.failure(
                ModelErrorKind::Disconnected,
                "the answer ended without a line that says done".to_owned(),
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
        let written = self.text.len()
            + self.thinking.len()
            + self
                .calls
                .iter()
                .map(|call| call.args.to_string().len())
                .sum::<usize>();
        let guess = estimated(sent_bytes, written);
        let counted = self.input.unwrap_or(0) + self.output.unwrap_or(0) > 0;
        let usage = Usage {
            input_tokens: self.input.filter(|_| counted).unwrap_or(guess.input_tokens),
            output_tokens: self
                .output
                .filter(|_| counted)
                .unwrap_or(guess.output_tokens),
            ..Usage::default()
        };
        let mut notes = self.notes;
        if !counted {
            notes.push(ESTIMATED.to_owned());
        }
        notes.extend(self.input.and_then(|read| cut_context(read, estimate)));
        let last = self.calls.len().checked_sub(1);
        let mut tool_calls: Vec<ModelToolCall> = Vec::new();
        for (position, call) in self.calls.into_iter().enumerate() {
            let taken = tool_calls
                .iter()
                .any(|earlier| earlier.provider_call_id == call.id);
            let provider_call_id = if call.id.is_empty() || taken {
                format!("call_local_{}", self.first_local_id + position)
            } else {
                call.id
            };
            tool_calls.push(ModelToolCall {
                provider_call_id,
                name: call.name,
                args: read_args(call.args, cut_off && Some(position) == last),
            });
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
            usage,
            native,
            notes,
        })
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
        self.line(data)
    }

    fn whole(&mut self, body: &Value) -> Result<Vec<ModelEvent>, Failure> {
        self.whole(body)
    }

    fn finish(self: Box<Self>, sent_bytes: usize) -> Result<ModelAnswer, Failure> {
        (*self).finish(sent_bytes)
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
    let malformed = |raw: &str, error: String| {
        Err(MalformedArgs {
            raw: excerpt(raw),
            error,
        })
    };
    let args = match args {
        // Servers that only look like Ollama send the text of the object.
        Value::String(text) => match surrogates::parse(&text) {
            Ok(value) => value,
            Err(error) => {
                return malformed(
                    &text,
                    format!("the arguments are not complete JSON ({error})"),
                );
            }
        },
        other => other,
    };
    match args {
        Value::Null if may_be_cut_off => malformed(
            "",
            "the answer reached its length limit before the arguments".to_owned(),
        ),
        Value::Object(object) if object.is_empty() && may_be_cut_off => malformed(
            "{}",
            "the answer reached its length limit before the arguments".to_owned(),
        ),
        Value::Null => Ok(Value::Object(Map::new())),
        object @ Value::Object(_) => Ok(object),
        other => malformed(
            &other.to_string(),
            "the arguments are not a JSON object".to_owned(),
        ),
    }
}
