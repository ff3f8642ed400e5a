//! Anthropic Messages.
//!
//! No sampling parameter is ever sent: newer models and API versions refuse them.

pub mod decoder;
pub mod wire;

use std::sync::Arc;

use reqwest::header::{ACCEPT, HeaderMap, HeaderName, HeaderValue};

use crate::config::settings::ProviderSettings;
use crate::model::anthropic::decoder::{Decoder, FAMILY};
use crate::model::exchange;
use crate::model::http::{Endpoint, EndpointProblem, plain_header, secret_header};
use crate::model::producer::{EventSink, produce};
use crate::model::request::{Model, ModelError, ModelRequest, ModelStream};

/// The API version sent where the configuration names none.
pub const DEFAULT_API_VERSION: &str = "2023-06-01";

/// One provider that speaks the Messages API.
#[derive(Debug)]
pub struct Anthropic {
    provider: String,
    endpoint: Arc<Endpoint>,
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
            .unwrap_or(DEFAULT_API_VERSION);
        headers.insert(
            HeaderName::from_static("anthropic-version"),
            plain_header(version, "api_version")?,
        );
        Ok(Self {
            provider: provider.to_owned(),
            endpoint: Arc::new(Endpoint::new(provider, settings, "/v1/messages", headers)?),
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
        produce(move |sink| async move { call(&endpoint, &request, &sink).await })
    }
}

async fn call(
    endpoint: &Endpoint,
    request: &ModelRequest,
    sink: &EventSink,
) -> Result<(), ModelError> {
    let body = wire::body(request);
    let sent_bytes = body.to_string().len();
    let answer = endpoint
        .post(&body)
        .await
        .map_err(|refused| refused.error)?;
    let decoder = Box::new(Decoder::new(request.earlier_calls()));
    exchange::receive(endpoint, answer, decoder, sent_bytes, sink).await
}
