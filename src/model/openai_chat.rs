//! OpenAI-compatible Chat Completions.
//!
//! No sampling parameter is ever sent. Parameters that some models refuse are dropped when a 400 names
//! them, for that model and the life of the provider object.

pub mod decoder;
pub mod thinking;
pub mod wire;

use std::sync::Arc;

use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderMap, HeaderValue};

use crate::config::settings::ProviderSettings;
use crate::model::http::address::EndpointProblem;
use crate::model::http::{Endpoint, has_no_path, host_of, secret_header};
use crate::model::learnt::{Learnt, Lesson};
use crate::model::openai_chat::decoder::{Decoder, FAMILY};
use crate::model::producer::{EventSink, produce};
use crate::model::request::{Model, ModelError, ModelRequest, ModelStream};
use crate::model::{exchange, sse};

/// Host whose models all take `max_completion_tokens`, the newer ones nothing else.
const OPENAI_HOST: &str = "api.openai.com";

/// One OpenAI-compatible provider.
#[derive(Debug)]
pub struct OpenAiChat {
    provider: String,
    endpoint: Arc<Endpoint>,
    first: wire::Parameters,
    learnt: Arc<Learnt<wire::Parameters>>,
}

impl OpenAiChat {
    /// The provider named `provider`; `settings.base_url` ends in `/v1` or the like, which is added where it is a
    /// server without any path.
    pub fn new(provider: &str, settings: &ProviderSettings) -> Result<Self, EndpointProblem> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        if let Some(key) = &settings.api_key {
            headers.insert(
                AUTHORIZATION,
                secret_header(&format!("Bearer {}", key.expose()), "api_key")?,
            );
        }
        let path = if has_no_path(&settings.base_url) {
            "/v1/chat/completions"
        } else {
            "/chat/completions"
        };
        let first = wire::Parameters {
            max_completion_tokens: host_of(&settings.base_url).as_deref() == Some(OPENAI_HOST),
            ..wire::Parameters::default()
        };
        Ok(Self {
            provider: provider.to_owned(),
            endpoint: Arc::new(Endpoint::new(provider, settings, path, headers)?),
            first,
            learnt: Arc::default(),
        })
    }
}

impl Model for OpenAiChat {
    fn provider(&self) -> &str {
        &self.provider
    }

    fn family(&self) -> &'static str {
        FAMILY
    }

    fn stream(&self, request: ModelRequest) -> ModelStream {
        let endpoint = Arc::clone(&self.endpoint);
        let (first, learnt) = (self.first, Arc::clone(&self.learnt));
        produce(move |sink| async move {
            let call = call(&endpoint, first, &learnt, &request, &sink);
            exchange::in_time(&endpoint, &sink, call).await
        })
    }
}

async fn call(
    endpoint: &Endpoint,
    first: wire::Parameters,
    learnt: &Learnt<wire::Parameters>,
    request: &ModelRequest,
    sink: &EventSink,
) -> Result<(), ModelError> {
    let asked = learnt
        .ask(
            endpoint,
            endpoint.url(),
            (&request.model, first),
            |parameters| wire::body(request, parameters, endpoint.host()),
            |parameters, body, refused| match refused.status {
                Some(400 | 422) => parameters
                    .without_refused(body, &refused.words)
                    .map(Lesson::lasting),
                _ => None,
            },
        )
        .await
        .map_err(|refused| refused.error)?;
    let decoder = Box::new(Decoder::new(request.earlier_calls()).of_host(endpoint.host()));
    let limit = sse::limit_for(request.max_output_tokens);
    let (answer, sent_bytes) = (asked.answer, asked.sent_bytes);
    exchange::receive_within(endpoint, answer, decoder, sent_bytes, limit, sink).await
}
