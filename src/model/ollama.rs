//! Ollama's native `/api/chat`.
//!
//! No sampling parameter is ever sent. What a model says it does not support is left out for the life of the provider
//! object, and each answer that came without tools says so.

pub mod decoder;
pub mod wire;

use std::sync::Arc;

use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderMap, HeaderValue};

use crate::config::settings::ProviderSettings;
use crate::model::exchange;
use crate::model::http::address::EndpointProblem;
use crate::model::http::{Endpoint, HttpRefusal, secret_header};
use crate::model::learnt::{Learnt, Lesson};
use crate::model::ollama::decoder::{Decoder, FAMILY};
use crate::model::ollama::wire::Parameters;
use crate::model::producer::{EventSink, produce};
use crate::model::request::{Model, ModelError, ModelErrorKind, ModelRequest, ModelStream};
use crate::model::sse;

/// One Ollama server.
#[derive(Debug)]
pub struct Ollama {
    provider: String,
    endpoint: Arc<Endpoint>,
    learnt: Arc<Learnt<Parameters>>,
}

impl Ollama {
    /// The provider named `provider`; `settings.base_url` is the part before `/api/chat`. A key is sent only where
    /// one is configured: servers of one's own want none.
    pub fn new(provider: &str, settings: &ProviderSettings) -> Result<Self, EndpointProblem> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/x-ndjson"));
        if let Some(key) = &settings.api_key {
            headers.insert(
                AUTHORIZATION,
                secret_header(&format!("Bearer {}", key.expose()), "api_key")?,
            );
        }
        let endpoint = Endpoint::new(provider, settings, "/api/chat", headers)?;
        Ok(Self {
            provider: provider.to_owned(),
            endpoint: Arc::new(endpoint.answering_in_lines()),
            learnt: Arc::default(),
        })
    }
}

impl Model for Ollama {
    fn provider(&self) -> &str {
        &self.provider
    }

    fn family(&self) -> &'static str {
        FAMILY
    }

    fn stream(&self, request: ModelRequest) -> ModelStream {
        let endpoint = Arc::clone(&self.endpoint);
        let learnt = Arc::clone(&self.learnt);
        produce(move |sink| async move {
            let call = call(&endpoint, &learnt, &request, &sink);
            exchange::in_time(&endpoint, &sink, call).await
        })
    }
}

async fn call(
    endpoint: &Endpoint,
    learnt: &Learnt<Parameters>,
    request: &ModelRequest,
    sink: &EventSink,
) -> Result<(), ModelError> {
    let asked = learnt
        .ask(
            endpoint,
            endpoint.url(),
            (&request.model, Parameters::default()),
            |parameters| wire::body(request, parameters),
            |parameters, _, refused| match refused.status {
                Some(400) => parameters
                    .without_refused(&refused.words)
                    .map(Lesson::lasting),
                _ => None,
            },
        )
        .await
        .map_err(|refused| with_pull_hint(refused, &request.model))?;
    let mut decoder = Decoder::new(request.earlier_calls());
    if !asked.parameters.tools && !request.tools.is_empty() {
        decoder.note(format!(
            "the model {} takes no tools; it was asked without them",
            request.model
        ));
    }
    let decoder = Box::new(decoder);
    let limit = sse::limit_for(request.max_output_tokens);
    let (answer, sent_bytes) = (asked.answer, asked.sent_bytes);
    exchange::receive_within(endpoint, answer, decoder, sent_bytes, limit, sink).await
}

/// A model that was never fetched is the usual reason for a 404, and one command helps.
fn with_pull_hint(refused: HttpRefusal, model: &str) -> ModelError {
    let mut error = refused.error;
    if error.kind == ModelErrorKind::NotFound && refused.words.contains("model") {
        error
            .message
            .push_str(&format!("; `ollama pull {model}` fetches it"));
    }
    error
}
