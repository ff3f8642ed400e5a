//! OpenAI Responses.
//!
//! Nothing is kept at the server and no sampling parameter is ever sent. Optional parameters that a model refuses are
//! dropped when a 400 names them, for the life of the provider object; earlier reasoning that the server does not take
//! back is left out of one repetition.

pub mod decoder;
pub mod wire;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use reqwest::Url;
use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderMap, HeaderValue};

use crate::config::settings::ProviderSettings;
use crate::model::http::{Endpoint, EndpointProblem, Refused, secret_header};
use crate::model::openai_responses::decoder::{Decoder, FAMILY};
use crate::model::openai_responses::wire::{Parameters, Replay};
use crate::model::producer::{EventSink, produce};
use crate::model::request::{Model, ModelError, ModelMessage, ModelRequest, ModelStream};
use crate::model::{exchange, failure, sse};

/// What each model has refused so far: models of one provider differ.
#[derive(Debug, Default)]
pub struct Quirks {
    parameters: Mutex<BTreeMap<String, Parameters>>,
}

impl Quirks {
    /// The parameters to send to `model` now.
    pub fn parameters(&self, model: &str) -> Parameters {
        let known = self
            .parameters
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        known.get(model).copied().unwrap_or_default()
    }

    /// Learns from the words of a 400, lower case; true when the request is worth sending again.
    ///
    /// The bound on output tokens is never given up, and a refused value (an effort the model does not know) is for
    /// the operator to correct.
    pub fn learn(&self, model: &str, words: &str) -> bool {
        let names = |list: &[&str]| list.iter().any(|name| words.contains(name));
        if !failure::refuses_parameter(words) || names(&["unsupported value", "unsupported_value"])
        {
            return false;
        }
        let mut known = self
            .parameters
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let sent = known.entry(model.to_owned()).or_default();
        let parameter = if names(&["stream_options", "include_obfuscation"]) {
            &mut sent.stream_options
        } else if names(&["prompt_cache_options", "prompt_cache_breakpoint"]) {
            &mut sent.cache_breakpoints
        } else if names(&["prompt_cache_key"]) {
            &mut sent.cache_key
        } else if names(&["parallel_tool_calls"]) {
            &mut sent.parallel_tool_calls
        } else if names(&[
            "encrypted_content",
            "encrypted content",
            "'include'",
            "parameter: include",
        ]) {
            &mut sent.encrypted_reasoning
        } else if names(&["reasoning.effort", "'reasoning'", "parameter: reasoning"]) {
            &mut sent.effort
        } else if names(&[".strict", "'strict'", "parameter: strict"]) {
            &mut sent.strict
        } else {
            return false;
        };
        std::mem::replace(parameter, false)
    }
}

/// One provider that speaks the Responses API.
#[derive(Debug)]
pub struct OpenAiResponses {
    provider: String,
    endpoint: Arc<Endpoint>,
    quirks: Arc<Quirks>,
}

impl OpenAiResponses {
    /// The provider named `provider`; `settings.base_url` is the part before `/responses`, and `/v1` is meant where it
    /// names a host only.
    pub fn new(provider: &str, settings: &ProviderSettings) -> Result<Self, EndpointProblem> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        if let Some(key) = &settings.api_key {
            headers.insert(
                AUTHORIZATION,
                secret_header(&format!("Bearer {}", key.expose()), "api_key")?,
            );
        }
        let host_only = Url::parse(&settings.base_url).is_ok_and(|url| url.path() == "/");
        let path = if host_only {
            "/v1/responses"
        } else {
            "/responses"
        };
        Ok(Self {
            provider: provider.to_owned(),
            endpoint: Arc::new(Endpoint::new(provider, settings, path, headers)?),
            quirks: Arc::default(),
        })
    }
}

impl Model for OpenAiResponses {
    fn provider(&self) -> &str {
        &self.provider
    }

    fn family(&self) -> &'static str {
        FAMILY
    }

    fn stream(&self, request: ModelRequest) -> ModelStream {
        let endpoint = Arc::clone(&self.endpoint);
        let quirks = Arc::clone(&self.quirks);
        let provider = self.provider.clone();
        produce(move |sink| async move {
            let call = call(&provider, &endpoint, &quirks, &request, &sink);
            exchange::in_time(&endpoint, &sink, call).await
        })
    }
}

async fn call(
    provider: &str,
    endpoint: &Endpoint,
    quirks: &Quirks,
    request: &ModelRequest,
    sink: &EventSink,
) -> Result<(), ModelError> {
    let mut replay = Replay::Native;
    let (answer, sent_bytes) = loop {
        let body = wire::body(request, quirks.parameters(&request.model), replay);
        match endpoint.post(&body).await {
            Ok(answer) => break (answer, body.to_string().len()),
            Err(Refused {
                status: Some(400 | 404 | 422),
                words,
                ..
            }) if replay == Replay::Native && replays(request) && misses_reasoning(&words) => {
                tracing::warn!(
                    provider,
                    model = request.model,
                    "the server does not take earlier reasoning items back; asking again without them"
                );
                replay = Replay::Flat;
            }
            Err(Refused {
                status: Some(400 | 422),
                words,
                ..
            }) if quirks.learn(&request.model, &words)
                && wire::body(request, quirks.parameters(&request.model), replay) != body =>
            {
                tracing::info!(
                    provider,
                    model = request.model,
                    "the server refuses an optional parameter; asking again without it"
                );
            }
            Err(refused) => return Err(refused.error),
        }
    };
    let decoder = Box::new(Decoder::new(request.earlier_calls()));
    let limit = sse::limit_for(request.max_output_tokens);
    exchange::receive_within(endpoint, answer, decoder, sent_bytes, limit, sink).await
}

/// Whether native items of ours are in the history.
fn replays(request: &ModelRequest) -> bool {
    request.messages.iter().any(|message| match message {
        ModelMessage::Assistant { native, .. } => native
            .as_ref()
            .is_some_and(|native| native.family == FAMILY),
        ModelMessage::User { .. } | ModelMessage::ToolResults { .. } => false,
    })
}

/// Whether the words of a refusal, lower case, say that a reasoning item is gone, out of its place, or of another key.
fn misses_reasoning(words: &str) -> bool {
    words.contains("without its required")
        || words.contains("rs_") && words.contains("not found")
        || words.contains("invalid_encrypted_content")
        || words.contains("encrypted content") && words.contains("could not be")
}
