//! Ollama's native `/api/chat`.
//!
//! No sampling parameter is ever sent. What a model says it does not support is left out for the life of the provider
//! object, and each answer that came without tools says so.

pub mod decoder;
pub mod wire;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderMap, HeaderValue};

use crate::config::settings::ProviderSettings;
use crate::model::exchange;
use crate::model::http::{Endpoint, EndpointProblem, Refused, secret_header};
use crate::model::ollama::decoder::{Decoder, FAMILY};
use crate::model::ollama::wire::Parameters;
use crate::model::producer::{EventSink, produce};
use crate::model::request::{Model, ModelError, ModelErrorKind, ModelRequest, ModelStream};
use crate::model::sse;

/// What each model has refused so far.
#[derive(Debug, Default)]
pub struct Quirks {
    by_model: Mutex<BTreeMap<String, Parameters>>,
}

impl Quirks {
    /// The parameters to send to `model` now.
    pub fn parameters(&self, model: &str) -> Parameters {
        let known = self.by_model.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(model).copied().unwrap_or(Parameters {
            tools: true,
            think: true,
        })
    }

    /// Learns from the words of a 400; true when the request is worth sending again.
    pub fn learn(&self, model: &str, sent: Parameters, words: &str) -> bool {
        let mut learnt = sent;
        if words.contains("does not support tools") {
            learnt.tools = false;
        } else if words.contains("does not support thinking") || words.contains("think value") {
            learnt.think = false;
        }
        if learnt == sent {
            return false;
        }
        let mut known = self.by_model.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(model.to_owned(), learnt);
        true
    }
}

/// One Ollama server.
#[derive(Debug)]
pub struct Ollama {
    provider: String,
    endpoint: Arc<Endpoint>,
    quirks: Arc<Quirks>,
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
            quirks: Arc::default(),
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
        let quirks = Arc::clone(&self.quirks);
        produce(move |sink| async move {
            let call = call(&endpoint, &quirks, &request, &sink);
            exchange::in_time(&endpoint, &sink, call).await
        })
    }
}

async fn call(
    endpoint: &Endpoint,
    quirks: &Quirks,
    request: &ModelRequest,
    sink: &EventSink,
) -> Result<(), ModelError> {
    let (answer, parameters, sent_bytes) = loop {
        let parameters = quirks.parameters(&request.model);
        let body = wire::body(request, parameters);
        match endpoint.post(&body).await {
            Ok(answer) => break (answer, parameters, body.to_string().len()),
            Err(Refused {
                status: Some(400),
                words,
                ..
            }) if quirks.learn(&request.model, parameters, &words) => {}
            Err(refused) => return Err(with_pull_hint(refused, &request.model)),
        }
    };
    let mut decoder = Decoder::new(request.earlier_calls());
    if !parameters.tools && !request.tools.is_empty() {
        decoder.note(format!(
            "the model {} takes no tools; it was asked without them",
            request.model
        ));
    }
    let limit = sse::limit_for(request.max_output_tokens);
    exchange::receive_within(endpoint, answer, Box::new(decoder), sent_bytes, limit, sink).await
}

/// A model that was never fetched is the usual reason for a 404, and one command helps.
fn with_pull_hint(refused: Refused, model: &str) -> ModelError {
    let mut error = refused.error;
    if error.kind == ModelErrorKind::NotFound && refused.words.contains("model") {
        error
            .message
            .push_str(&format!("; `ollama pull {model}` fetches it"));
    }
    error
}
