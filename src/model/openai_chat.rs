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
use crate::model::http::{Endpoint, EndpointProblem, Refused, has_no_path, host_of, secret_header};
use crate::model::learnt::Learnt;
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
            learnt: Arc::new(Learnt::new(first)),
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
    let (answer, sent_bytes) = loop {
        let parameters = learnt.of(&request.model);
        let body = wire::body(request, parameters, endpoint.host());
        match endpoint.post(&body).await {
            Ok(answer) => break (answer, body.to_string().len()),
            Err(Refused {
                status: Some(400 | 422),
                words,
                error,
            }) => match parameters.without_refused(&body, &words) {
                Some(fewer) => learnt.set(&request.model, fewer),
                None => return Err(error),
            },
            Err(refused) => return Err(refused.error),
        }
    };
    let decoder = Decoder::new(request.earlier_calls()).of_host(endpoint.host());
    let limit = sse::limit_for(request.max_output_tokens);
    exchange::receive_within(endpoint, answer, Box::new(decoder), sent_bytes, limit, sink).await
}
