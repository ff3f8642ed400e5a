//! OpenAI-compatible Chat Completions.
//!
//! No sampling parameter is ever sent. Parameters that some servers refuse are dropped when a 400 names
//! them, for the life of the provider object.

pub mod decoder;
pub mod wire;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderMap, HeaderValue};

use crate::config::settings::ProviderSettings;
use crate::model::http::{Endpoint, EndpointProblem, Refused, secret_header};
use crate::model::openai_chat::decoder::Decoder;
use crate::model::producer::{EventSink, produce};
use crate::model::request::{Model, ModelError, ModelRequest, ModelStream};
use crate::model::{exchange, failure};

/// What a server has refused so far.
#[derive(Debug, Default)]
pub struct Quirks {
    no_stream_options: AtomicBool,
    max_completion_tokens: AtomicBool,
    no_parallel_tool_calls: AtomicBool,
}

impl Quirks {
    /// The parameters to send now.
    pub fn parameters(&self) -> wire::Parameters {
        wire::Parameters {
            stream_options: !self.no_stream_options.load(Ordering::Relaxed),
            max_completion_tokens: self.max_completion_tokens.load(Ordering::Relaxed),
            parallel_tool_calls: !self.no_parallel_tool_calls.load(Ordering::Relaxed),
        }
    }

    /// Learns from the words of a 400; true when the request is worth sending again.
    pub fn learn(&self, sent: wire::Parameters, words: &str) -> bool {
        let refused = failure::refuses_parameter(words);
        if sent.stream_options && words.contains("stream_options") {
            self.no_stream_options.store(true, Ordering::Relaxed);
            true
        } else if !sent.max_completion_tokens
            && words.contains("max_tokens")
            && (words.contains("max_completion_tokens") || refused)
        {
            self.max_completion_tokens.store(true, Ordering::Relaxed);
            true
        } else if sent.parallel_tool_calls && words.contains("parallel_tool_calls") {
            self.no_parallel_tool_calls.store(true, Ordering::Relaxed);
            true
        } else {
            false
        }
    }
}

/// One OpenAI-compatible provider.
#[derive(Debug)]
pub struct OpenAiChat {
    provider: String,
    endpoint: Arc<Endpoint>,
    quirks: Arc<Quirks>,
}

impl OpenAiChat {
    /// The provider named `provider`; `settings.base_url` ends in `/v1` or the like.
    pub fn new(provider: &str, settings: &ProviderSettings) -> Result<Self, EndpointProblem> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        if let Some(key) = &settings.api_key {
            headers.insert(
                AUTHORIZATION,
                secret_header(&format!("Bearer {}", key.expose()), "api_key")?,
            );
        }
        Ok(Self {
            provider: provider.to_owned(),
            endpoint: Arc::new(Endpoint::new(
                provider,
                settings,
                "/chat/completions",
                headers,
            )?),
            quirks: Arc::default(),
        })
    }
}

impl Model for OpenAiChat {
    fn provider(&self) -> &str {
        &self.provider
    }

    fn family(&self) -> &'static str {
        "openai-chat"
    }

    fn stream(&self, request: ModelRequest) -> ModelStream {
        let endpoint = Arc::clone(&self.endpoint);
        let quirks = Arc::clone(&self.quirks);
        produce(move |sink| async move { call(&endpoint, &quirks, &request, &sink).await })
    }
}

async fn call(
    endpoint: &Endpoint,
    quirks: &Quirks,
    request: &ModelRequest,
    sink: &EventSink,
) -> Result<(), ModelError> {
    let (answer, sent_bytes) = loop {
        let parameters = quirks.parameters();
        let body = wire::body(request, parameters);
        match endpoint.post(&body).await {
            Ok(answer) => break (answer, body.to_string().len()),
            Err(Refused {
                status: Some(400 | 422),
                words,
                ..
            }) if quirks.learn(parameters, &words) => {}
            Err(refused) => return Err(refused.error),
        }
    };
    let decoder = Box::new(Decoder::new(request.earlier_calls()));
    exchange::receive(endpoint, answer, decoder, sent_bytes, sink).await
}
