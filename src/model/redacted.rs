//! What a provider sends, without secrets: every piece of every answer passes here before anybody else sees it.
//!
//! A server can echo the key it was called with: in text, split over pieces, as the id or the name of a call, in
//! arguments, in blocks that are kept for replay and in errors.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::Stream;
use serde_json::Value;

use crate::model::request::{ModelAnswer, ModelError, ModelEvent, ModelStream, StopReason};
use crate::text::redact::Redactor;
use crate::text::redact::seam::{End, Seam};

/// The same stream without secrets. Call ids that hold one are numbered from `first_id`.
pub fn redacted(events: ModelStream, redactor: Redactor, first_id: usize) -> ModelStream {
    Box::pin(Clean {
        events,
        text: Seam::new(redactor.clone()),
        redactor,
        first_id,
        ready: VecDeque::new(),
    })
}

struct Clean {
    events: ModelStream,
    redactor: Redactor,
    text: Seam,
    first_id: usize,
    ready: VecDeque<Result<ModelEvent, ModelError>>,
}

impl Clean {
    fn rest(&mut self, end: End) {
        let rest = self.text.finish(end);
        if !rest.is_empty() {
            self.ready.push_back(Ok(ModelEvent::TextDelta(rest)));
        }
    }

    fn take(&mut self, item: Result<ModelEvent, ModelError>) {
        match item {
            Ok(ModelEvent::TextDelta(piece)) => {
                let text = self.text.push(&piece);
                self.ready
                    .push_back(Ok(if text.is_empty() && !piece.is_empty() {
                        ModelEvent::Heartbeat
                    } else {
                        ModelEvent::TextDelta(text)
                    }));
            }
            Ok(ModelEvent::Heartbeat) => self.ready.push_back(Ok(ModelEvent::Heartbeat)),
            Ok(ModelEvent::Finished(mut answer)) => {
                self.rest(End::Whole);
                clean_answer(&self.redactor, &mut answer, self.first_id);
                self.ready.push_back(Ok(ModelEvent::Finished(answer)));
            }
            Err(mut error) => {
                self.rest(End::BrokenOff);
                error.message = self.redactor.redact_excerpts(&error.message);
                self.ready.push_back(Err(error));
            }
        }
    }
}

impl Stream for Clean {
    type Item = Result<ModelEvent, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        loop {
            if let Some(item) = this.ready.pop_front() {
                return Poll::Ready(Some(item));
            }
            match this.events.as_mut().poll_next(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Some(item)) => this.take(item),
                Poll::Ready(None) => {
                    this.rest(End::BrokenOff);
                    if this.ready.is_empty() {
                        return Poll::Ready(None);
                    }
                }
            }
        }
    }
}

/// Takes secrets out of every text of `answer`. A call id that holds one becomes ours, and with it what refers to it.
fn clean_answer(redactor: &Redactor, answer: &mut ModelAnswer, first_id: usize) {
    let clean = |text: &mut String| {
        if let std::borrow::Cow::Owned(redacted) = redactor.redact(text) {
            *text = redacted;
        }
    };
    clean(&mut answer.text);
    answer.notes.iter_mut().for_each(clean);
    if let Some(model) = &mut answer.model {
        *model = redactor.redact_excerpts(model);
    }
    match &mut answer.stop {
        StopReason::Other(word) | StopReason::RefusedFor(word) => {
            *word = redactor.redact_excerpts(word);
        }
        StopReason::EndTurn
        | StopReason::ToolUse
        | StopReason::MaxTokens
        | StopReason::Refusal
        | StopReason::Paused => {}
    }
    let mut native = answer.native.as_mut();
    for (position, call) in answer.tool_calls.iter_mut().enumerate() {
        if redactor.redact(&call.provider_call_id) != call.provider_call_id {
            let own = format!("call_redacted_{}", first_id + position);
            if let Some(native) = &mut native {
                replace(&mut native.content, &call.provider_call_id, &own);
            }
            call.provider_call_id = own;
        }
        clean(&mut call.name);
        match &mut call.args {
            Ok(args) => redactor.redact_json(args),
            Err(malformed) => {
                malformed.raw = redactor.redact_excerpts(&malformed.raw);
                malformed.error = redactor.redact_excerpts(&malformed.error);
            }
        }
    }
    if let Some(native) = native {
        redactor.redact_registered_json(&mut native.content);
    }
}

/// Puts `new` where a string of `value` is `old`.
fn replace(value: &mut Value, old: &str, new: &str) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
        Value::String(text) if text == old => new.clone_into(text),
        Value::String(_) => {}
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, old, new)),
        Value::Object(fields) => fields
            .values_mut()
            .for_each(|field| replace(field, old, new)),
    }
}
