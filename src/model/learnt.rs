//! What the models of one provider have refused or demanded so far: learnt from the words of a refusal, kept per model
//! for the life of the provider object.
//!
//! A refusal from which nothing follows that would be sent otherwise is final: the same request is never sent twice.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use reqwest::Url;
use serde_json::Value;

use crate::model::http::{Answer, Endpoint, HttpRefusal};

/// The parameters of each model from which something was learnt.
#[derive(Debug)]
pub struct Learnt<P> {
    by_model: Mutex<BTreeMap<String, P>>,
}

impl<P> Default for Learnt<P> {
    /// Nothing refused yet.
    fn default() -> Self {
        Self {
            by_model: Mutex::default(),
        }
    }
}

/// What follows from a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lesson<P> {
    /// What to send instead.
    pub next: P,
    /// What to send to this model from now on; none = the lesson is about this request alone.
    pub kept: Option<P>,
}

impl<P: Copy> Lesson<P> {
    /// A lesson about the model.
    pub fn lasting(parameters: P) -> Self {
        Self {
            next: parameters,
            kept: Some(parameters),
        }
    }

    /// A lesson about this request alone.
    pub fn once(parameters: P) -> Self {
        Self {
            next: parameters,
            kept: None,
        }
    }
}

/// A request that was answered.
pub struct AnsweredRequest<P> {
    /// The answer.
    pub answer: Answer,
    /// What it was asked with in the end.
    pub parameters: P,
    /// Size of the request, in bytes.
    pub sent_bytes: usize,
}

impl<P: Copy> Learnt<P> {
    /// What to send to `model` now; `first` where nothing was learnt of it.
    pub fn of(&self, model: &str, first: P) -> P {
        let known = self.by_model.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(model).copied().unwrap_or(first)
    }

    /// Remembers what to send to `model` from now on.
    pub fn set(&self, model: &str, parameters: P) {
        self.by_model
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(model.to_owned(), parameters);
    }

    /// Posts `body` to `url`, and again as often as a refusal teaches something that changes it. The error is the
    /// refusal from which nothing follows.
    pub async fn ask(
        &self,
        endpoint: &Endpoint,
        url: Url,
        (model, first): (&str, P),
        body: impl Fn(P) -> Value,
        learn: impl Fn(P, &Value, &HttpRefusal) -> Option<Lesson<P>>,
    ) -> Result<AnsweredRequest<P>, HttpRefusal> {
        let mut parameters = self.of(model, first);
        let mut sent = body(parameters);
        loop {
            let refused = match endpoint.post_to(url.clone(), &sent).await {
                Ok(answer) => {
                    return Ok(AnsweredRequest {
                        answer,
                        parameters,
                        sent_bytes: sent.to_string().len(),
                    });
                }
                Err(refused) => refused,
            };
            let Some(lesson) = learn(parameters, &sent, &refused) else {
                return Err(refused);
            };
            if let Some(kept) = lesson.kept {
                self.set(model, kept);
            }
            parameters = lesson.next;
            let next = body(parameters);
            if next == sent {
                return Err(refused);
            }
            sent = next;
        }
    }
}
