//! Anthropic Messages.
//!
//! No sampling parameter is ever sent: newer models and API versions refuse them. Thinking is asked for only where the
//! profile says how much, and no more of a model that has refused the parameter.

pub mod decoder;
pub mod wire;

use std::sync::Arc;

use reqwest::header::{ACCEPT, HeaderMap, HeaderName, HeaderValue};

use crate::config::settings::ProviderSettings;
use crate::model::anthropic::decoder::{Decoder, FAMILY};
use crate::model::http::address::EndpointProblem;
use crate::model::http::{Endpoint, host_of, plain_header, secret_header};
use crate::model::learnt::{Learnt, Lesson};
use crate::model::producer::{EventSink, produce};
use crate::model::request::{Model, ModelError, ModelRequest, ModelStream};
use crate::model::{exchange, sse};

/// Anthropic's own host.
const OWN_HOST: &str = "api.anthropic.com";
/// The API version sent to Anthropic's own host where the configuration names none.
pub const OWN_API_VERSION: &str = "2026-10-21";
/// The API version sent to any other host: what compatible servers know.
pub const COMPATIBLE_API_VERSION: &str = "2023-06-01";

/// The API version sent where the configuration names none.
pub fn default_api_version(base_url: &str) -> &'static str {
    match host_of(base_url).as_deref() {
        Some(OWN_HOST) => OWN_API_VERSION,
        Some(_) | None => COMPATIBLE_API_VERSION,
    }
}

/// One provider that speaks the Messages API.
#[derive(Debug)]
pub struct Anthropic {
    provider: String,
    endpoint: Arc<Endpoint>,
    learnt: Arc<Learnt<wire::Parameters>>,
}

impl Anthropic {
    /// The provider named `provider`; `settings.base_url` is the part before `/v1/messages`.
    pub fn new(provider: &str, settings: &ProviderSettings) -> Result<Self, EndpointProblem> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        if let Some(key) = &settings.api_key {
            headers.insert(
                HeaderName::from_static("x-api-key"),
                secret_header(key.expose(), "api_key")?,
            );
        }
        let version = settings
            .api_version
            .as_deref()
            .unwrap_or_else(|| default_api_version(&settings.base_url));
        headers.insert(
            HeaderName::from_static("anthropic-version"),
            plain_header(version, "api_version")?,
        );
        Ok(Self {
            provider: provider.to_owned(),
            endpoint: Arc::new(Endpoint::new(provider, settings, "/v1/messages", headers)?),
            learnt: Arc::default(),
        })
    }
}

impl Model for Anthropic {
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
    learnt: &Learnt<wire::Parameters>,
    request: &ModelRequest,
    sink: &EventSink,
) -> Result<(), ModelError> {
    let asked = learnt
        .ask(
            endpoint,
            endpoint.url(),
            (&request.model, wire::Parameters::default()),
            |parameters| wire::body(request, parameters),
            |parameters, body, refused| match refused.status {
                Some(400 | 422) => parameters
                    .without_refused(body, &refused.words)
                    .map(Lesson::lasting),
                _ => None,
            },
        )
        .await
        .map_err(|refused| refused.error)?;
    let decoder = Box::new(Decoder::new(request.earlier_calls()));
    let limit = sse::limit_for(request.max_output_tokens);
    let (answer, sent_bytes) = (asked.answer, asked.sent_bytes);
    exchange::receive_within(endpoint, answer, decoder, sent_bytes, limit, sink).await
}
