//! One provider: how each wire asks, what its models have refused so far, and the one way an answer is read.
//!
//! A refusal from which nothing follows that would be sent otherwise is final: the same request is never sent twice.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};

use reqwest::Url;
use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

use crate::config::settings::ProviderSettings;
use crate::model::decode::Decode;
use crate::model::exchange;
use crate::model::http::address::EndpointProblem;
use crate::model::http::{Answer, Endpoint, HttpRefusal, secret_header};
use crate::model::parameters;
use crate::model::producer::{EventSink, produce};
use crate::model::request::{Model, ModelError, ModelRequest, ModelStream};
use crate::text::framing::Format;

/// The protocol of one kind of provider.
pub trait Wire: Debug + Send + Sync + 'static {
    /// The family of its native blocks.
    const FAMILY: &'static str;
    /// What of a request depends on what a model has refused or demanded.
    type Form: Debug + Copy + Send + Sync + 'static;
    /// Reads its answers.
    type Decoder: Decode;

    /// The form of a first request to `model`.
    fn first(&self, model: &str) -> Self::Form;

    /// Where a request to `model` goes.
    fn url(&self, endpoint: &Endpoint, _model: &str) -> Url {
        endpoint.url()
    }

    /// What is posted.
    fn body(&self, endpoint: &Endpoint, request: &ModelRequest, form: Self::Form) -> Value;

    /// What follows from the refusal of `body`.
    fn adjust(
        &self,
        request: &ModelRequest,
        form: Self::Form,
        body: &Value,
        refused: &HttpRefusal,
    ) -> Option<Adjustment<Self::Form>>;

    /// A decoder of the answer to a request that was sent in this form.
    fn decoder(
        &self,
        endpoint: &Endpoint,
        request: &ModelRequest,
        form: Self::Form,
    ) -> Self::Decoder;

    /// What an operator should know of a request that was answered in this form.
    fn note(&self, request: &ModelRequest, form: Self::Form) -> Option<String>;

    /// The error of a refusal from which nothing follows.
    fn refusal(&self, _request: &ModelRequest, refused: HttpRefusal) -> ModelError {
        refused.error
    }

    /// What the failure of an answer says of the model from now on.
    fn demanded(&self, _form: Self::Form, _error: &ModelError) -> Option<Self::Form> {
        None
    }
}

/// What follows from a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Adjustment<F> {
    /// What to send instead.
    pub next: F,
    /// What to send to this model from now on; none = it is about this request alone.
    pub kept: Option<F>,
}

impl<F: Copy> Adjustment<F> {
    /// One that is about the model.
    pub fn lasting(form: F) -> Self {
        Self {
            next: form,
            kept: Some(form),
        }
    }

    /// One that follows from these words, lower case: about the model, unless they are about one picture.
    pub fn after(form: F, words: &str) -> Self {
        if parameters::is_about_one_picture(words) {
            Self::once(form)
        } else {
            Self::lasting(form)
        }
    }

    /// One that is about this request alone.
    pub fn once(form: F) -> Self {
        Self {
            next: form,
            kept: None,
        }
    }
}

/// A provider that speaks the wire `W`.
#[derive(Debug)]
pub struct Provider<W: Wire> {
    shared: Arc<Shared<W>>,
}

#[derive(Debug)]
struct Shared<W: Wire> {
    name: String,
    wire: W,
    endpoint: Endpoint,
    /// The forms of the models that have refused or demanded something, for the life of this object.
    quirks: Mutex<BTreeMap<String, W::Form>>,
}

impl<W: Wire> Provider<W> {
    /// The provider named `name` at `endpoint`.
    pub fn at(name: &str, wire: W, endpoint: Endpoint) -> Self {
        Self {
            shared: Arc::new(Shared {
                name: name.to_owned(),
                wire,
                endpoint,
                quirks: Mutex::default(),
            }),
        }
    }
}

impl<W: Wire> Model for Provider<W> {
    fn provider(&self) -> &str {
        &self.shared.name
    }

    fn family(&self) -> &'static str {
        W::FAMILY
    }

    fn stream(&self, request: ModelRequest) -> ModelStream {
        let shared = Arc::clone(&self.shared);
        produce(move |sink| async move {
            exchange::in_time(&shared.endpoint, &sink, shared.call(&request, &sink)).await
        })
    }
}

impl<W: Wire> Shared<W> {
    async fn call(&self, request: &ModelRequest, sink: &EventSink) -> Result<(), ModelError> {
        let (answer, form, sent_bytes) = self
            .ask(request)
            .await
            .map_err(|refused| self.wire.refusal(request, refused))?;
        let decoder = self.wire.decoder(&self.endpoint, request, form);
        let limits = exchange::limits_for(request.max_output_tokens);
        let note = self.wire.note(request, form);
        let outcome = exchange::receive(
            &self.endpoint,
            answer,
            decoder,
            sent_bytes,
            limits,
            note,
            sink,
        )
        .await;
        if let Err(error) = &outcome
            && let Some(form) = self.wire.demanded(form, error)
        {
            self.remember(&request.model, form);
        }
        outcome
    }

    /// Posts the request, and again as often as a refusal teaches something that changes it. The error is the refusal
    /// from which nothing follows. Beside the answer: the form that was answered, and its size in bytes.
    async fn ask(&self, request: &ModelRequest) -> Result<(Answer, W::Form, usize), HttpRefusal> {
        let mut form = self.form(&request.model);
        let mut sent = self.wire.body(&self.endpoint, request, form);
        loop {
            let url = self.wire.url(&self.endpoint, &request.model);
            let refused = match self.endpoint.post_to(url, &sent).await {
                Ok(answer) => return Ok((answer, form, sent.to_string().len())),
                Err(refused) => refused,
            };
            let Some(adjustment) = self.wire.adjust(request, form, &sent, &refused) else {
                return Err(refused);
            };
            let (provider, model) = (&self.name, &request.model);
            tracing::info!(
                provider,
                model,
                "the server refused the request; asking again in another form"
            );
            if let Some(kept) = adjustment.kept {
                self.remember(&request.model, kept);
            }
            form = adjustment.next;
            let next = self.wire.body(&self.endpoint, request, form);
            if next == sent {
                return Err(refused);
            }
            sent = next;
        }
    }

    fn form(&self, model: &str) -> W::Form {
        let quirks = self.quirks.lock().unwrap_or_else(PoisonError::into_inner);
        let known = quirks.get(model).copied();
        known.unwrap_or_else(|| self.wire.first(model))
    }

    fn remember(&self, model: &str, form: W::Form) {
        self.quirks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(model.to_owned(), form);
    }
}

/// The headers of every request: the format of the answer, and the key in the header that the wire wants it in.
pub fn headers(
    settings: &ProviderSettings,
    format: Format,
    key_header: HeaderName,
) -> Result<HeaderMap, EndpointProblem> {
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static(format.media_type()));
    if let Some(key) = &settings.api_key {
        let value = if key_header == AUTHORIZATION {
            secret_header(&format!("Bearer {}", key.expose()), "api_key")?
        } else {
            secret_header(key.expose(), "api_key")?
        };
        headers.insert(key_header, value);
    }
    Ok(headers)
}
