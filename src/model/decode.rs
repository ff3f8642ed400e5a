//! What the decoders of all wires share: how they report, what they count, and how a call of a tool becomes whole.
//!
//! Pure: no I/O, no time. No call runs unless its arguments are one whole JSON object.

use std::time::Duration;

use serde_json::Value;

use crate::model::failure::{self, Failure, excerpt};
use crate::model::request::{
    MalformedArgs, ModelAnswer, ModelErrorKind, ModelEvent, ModelToolCall, TokenCount,
};
use crate::model::surrogates;
use crate::protocol::session::Usage;

/// Most bytes of one call's arguments.
const MAX_ARGS_BYTES: usize = 1024 * 1024;
/// Most calls in one answer; more is a server gone wrong.
pub const MAX_CALLS: usize = 128;
/// What a step says of an answer whose server counted no token.
const ESTIMATED: &str = "the server counted no tokens; those of this answer are estimated";

/// What a decoder knows after an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// The answer is not complete.
    Open,
    /// The answer is complete; its trailer (usage, a closing word) may still follow.
    Finishing,
    /// Nothing more is to come.
    Done,
}

/// Where the content of an answer stands to the reasons for its end that came so far. Pure.
#[derive(Debug, Default, Clone, Copy)]
pub struct Ending {
    /// A reason came.
    has_reason: bool,
    /// Content came after a reason: a reason beside content is no end.
    is_early: bool,
    /// A reason came with the last content or after it.
    is_named: bool,
    is_finishing: bool,
}

impl Ending {
    /// Takes what one event had.
    pub fn take(&mut self, has_content: bool, has_reason: bool) {
        if has_content {
            self.is_early |= self.has_reason;
            self.is_named = false;
            self.is_finishing = false;
        }
        if has_reason {
            self.has_reason = true;
            self.is_named = true;
            self.is_finishing = !(has_content && self.is_early);
        }
    }

    /// Whether only a trailer may follow.
    pub fn is_finishing(self) -> bool {
        self.is_finishing
    }

    /// Whether the answer may end here.
    pub fn is_named(self) -> bool {
        self.is_named
    }
}

/// The pure part of an adapter: the data of events in, our events out.
pub trait Decode: Send {
    /// Where the answer stands.
    fn progress(&self) -> Progress;

    /// Takes the data of one event, or one line.
    fn data(&mut self, data: &str) -> Result<Vec<ModelEvent>, Failure>;

    /// Takes a whole answer that came as one JSON body.
    fn whole(&mut self, body: &Value) -> Result<Vec<ModelEvent>, Failure>;

    /// The answer, once nothing more comes. `sent_bytes` is the size of the request, from which tokens are estimated
    /// where the server reported none.
    fn finish(self, sent_bytes: usize) -> Result<ModelAnswer, Failure>
    where
        Self: Sized;

    /// What the server counted so far.
    fn counted(&self) -> Option<Usage>;

    /// What an error inside the answer asked us to wait.
    fn retry_after(&self) -> Option<Duration> {
        None
    }

    /// A failure of this answer, with the tokens that it used.
    fn failure(&self, kind: ModelErrorKind, what: impl Into<String>) -> Failure
    where
        Self: Sized,
    {
        Failure {
            usage: self.counted().map(|usage| TokenCount {
                input: usage.input_tokens,
                output: usage.output_tokens,
            }),
            ..Failure::new(kind, what)
        }
    }

    /// The failure of a server that sent `got` in place of `expected`.
    fn unexpected(&self, expected: &str, got: &str) -> Failure
    where
        Self: Sized,
    {
        let what = format!("expected {expected}, got: {}", excerpt(got));
        self.failure(ModelErrorKind::Protocol, what)
    }

    /// The failure of a server that sends without end.
    fn too_many(&self, most: usize, of_what: &str) -> Failure
    where
        Self: Sized,
    {
        let what = format!("more than {most} {of_what} in one answer");
        self.failure(ModelErrorKind::Protocol, what)
    }

    /// The failure that a server reported inside the answer.
    fn reported(&self, event: &Value) -> Failure
    where
        Self: Sized,
    {
        let error = failure::provider_error(event, true).unwrap_or_default();
        let words = if error.message.is_empty() {
            excerpt(&event.to_string())
        } else {
            excerpt(&error.message)
        };
        let code = match error.code.as_str() {
            "" => String::new(),
            code => format!(" ({})", excerpt(code)),
        };
        self.failure(
            failure::classify_in_band(&error),
            format!("it reported an error{code}: {words}"),
        )
    }

    /// The JSON of one event or line.
    fn parse(&self, data: &str) -> Result<Value, Failure>
    where
        Self: Sized,
    {
        surrogates::parse(data)
            .map_err(|error| self.unexpected(&format!("JSON in the stream ({error})"), data))
    }
}

/// The text of a field; empty where there is none.
pub fn word<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or("")
}

/// Takes the name of the model that answers, where this field has one. The first name counts.
pub fn take_model(value: Option<&Value>, field: &str, model: &mut Option<String>) {
    let name = value.map_or("", |value| word(value, field));
    if model.is_none() && !name.is_empty() {
        *model = Some(excerpt(name));
    }
}

/// Whether a block, an item or an event is of this type.
pub fn is_kind(value: &Value, kind: &str) -> bool {
    word(value, "type") == kind
}

/// Counts are snapshots, not increments: a field that is present replaces the one before.
pub fn set_count(usage: &Value, field: &str, count: &mut u64) {
    if let Some(newest) = usage.get(field).and_then(Value::as_u64) {
        *count = newest;
    }
}

/// What an answer cost in US dollars, where the server says so. A router that calls with the user's own key of a provider
/// says apart what that provider charges; with a key of its own the same field repeats what is in its price.
pub fn reported_cost(usage: &Value) -> Option<f64> {
    let own = usage.get("cost").and_then(Value::as_f64);
    let is_byok = usage.get("is_byok").and_then(Value::as_bool) == Some(true);
    let upstream = usage.pointer("/cost_details/upstream_inference_cost");
    match upstream.and_then(Value::as_f64).filter(|_| is_byok) {
        Some(upstream) => Some(own.unwrap_or(0.0) + upstream),
        None => own,
    }
}

/// What a server counted, where it counted anything; none = it is not believed.
pub fn believed(usage: Usage) -> Option<Usage> {
    (usage.input_tokens + usage.output_tokens > 0).then_some(usage)
}

/// What an answer used, and the notes of that. Where the server counted nothing, four bytes are a token, so that a
/// budget still counts.
pub fn measured(
    counted: Option<Usage>,
    sent_bytes: usize,
    written: impl FnOnce() -> usize,
) -> (Usage, Vec<String>) {
    if let Some(usage) = counted.and_then(believed) {
        return (usage, Vec::new());
    }
    let estimate = Usage {
        input_tokens: (sent_bytes as u64).div_ceil(4),
        output_tokens: (written() as u64).div_ceil(4),
        ..Usage::default()
    };
    (estimate, vec![ESTIMATED.to_owned()])
}

/// Adds a call under the id that the server gave it, or under one of ours, `call_local_<local>`, where that is missing
/// or taken.
pub fn add_call(
    calls: &mut Vec<ModelToolCall>,
    given: &str,
    local: usize,
    name: &str,
    args: Result<Value, MalformedArgs>,
) {
    let taken = calls.iter().any(|call| call.provider_call_id == given);
    calls.push(ModelToolCall {
        provider_call_id: if given.is_empty() || taken {
            format!("call_local_{local}")
        } else {
            given.to_owned()
        },
        name: name.to_owned(),
        args,
    });
}

/// Arguments that come in fragments.
#[derive(Debug, Default)]
pub struct StreamedArgs {
    text: String,
    too_large: bool,
}

impl StreamedArgs {
    /// Appends a fragment; what is beyond the cap is dropped, and the call will not run.
    pub fn push(&mut self, fragment: &str) {
        if self.text.len() + fragment.len() > MAX_ARGS_BYTES {
            self.too_large = true;
        } else {
            self.text.push_str(fragment);
        }
    }

    /// Takes the whole text in place of its fragments.
    pub fn replace(&mut self, whole: &str) {
        self.text.clear();
        self.too_large = false;
        self.push(whole);
    }

    /// What came so far.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The fault of arguments beyond the cap.
    pub fn oversize(&self) -> Option<MalformedArgs> {
        self.too_large.then(|| too_large(&self.text))
    }
}

/// Arguments that cannot be used, and why.
pub fn malformed(raw: &str, error: impl Into<String>) -> MalformedArgs {
    MalformedArgs {
        raw: excerpt(raw),
        error: error.into(),
    }
}

fn too_large(raw: &str) -> MalformedArgs {
    let kib = MAX_ARGS_BYTES / 1024;
    malformed(raw, format!("the arguments are larger than {kib} KiB"))
}

/// Arguments that were never written: `{}`, unless the answer may have been cut before them.
pub fn no_args(raw: &str, may_be_cut_off: bool) -> Result<Value, MalformedArgs> {
    if may_be_cut_off {
        let error = "the answer reached its length limit before the arguments";
        return Err(malformed(raw, error));
    }
    Ok(Value::Object(serde_json::Map::new()))
}

/// Arguments that are not an object.
pub fn no_object(raw: &str) -> MalformedArgs {
    malformed(raw, "the arguments are not a JSON object")
}

/// The object that `text` is, which may have been cut off.
pub fn parse_args(text: &str, may_be_cut_off: bool) -> Result<Value, MalformedArgs> {
    if text.len() > MAX_ARGS_BYTES {
        return Err(too_large(text));
    }
    match surrogates::parse(text.trim()) {
        Ok(object @ Value::Object(_)) => Ok(object),
        Ok(_) => Err(no_object(text)),
        Err(error) if may_be_cut_off => Err(malformed(
            text,
            format!("the answer reached its length limit inside the arguments ({error})"),
        )),
        Err(error) => Err(malformed(
            text,
            format!("the arguments are not complete JSON ({error})"),
        )),
    }
}
