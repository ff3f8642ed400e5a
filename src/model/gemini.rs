//! Google Gemini, `generateContent`.
//!
//! The key goes in a header, never in the address. No sampling parameter is ever sent. What a model refuses or demands
//! is remembered for the life of the provider object.

pub mod decoder;
pub mod wire;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use reqwest::header::{ACCEPT, HeaderMap, HeaderName, HeaderValue};

use crate::config::settings::ProviderSettings;
use crate::model::exchange;
use crate::model::gemini::decoder::{Decoder, FAMILY, MISSING_SIGNATURE};
use crate::model::gemini::wire::Parameters;
use crate::model::http::{Endpoint, EndpointProblem, Refused, secret_header};
use crate::model::producer::{EventSink, produce};
use crate::model::request::{Model, ModelError, ModelRequest, ModelStream};
use crate::model::sse;

/// The API version asked for where the configuration names none.
pub const DEFAULT_API_VERSION: &str = "v1beta";

/// What each model has refused or demanded so far.
#[derive(Debug, Default)]
pub struct Quirks {
    by_model: Mutex<BTreeMap<String, Parameters>>,
}

impl Quirks {
    /// The parameters to send to `model` now.
    pub fn parameters(&self, model: &str) -> Parameters {
        let known = self.by_model.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(model).copied().unwrap_or(Parameters {
            thinking: true,
            mark_unsigned: wants_signatures(model),
            replay: true,
        })
    }

    /// The parameters to try after `words` of a 400, or none when trying again would not help.
    pub fn learn(&self, model: &str, sent: Parameters, words: &str) -> Option<Parameters> {
        let mut next = sent;
        let signature = ["thought_signature", "thought signature", "thoughtsignature"];
        if signature.iter().any(|name| words.contains(name)) {
            if words.contains("missing") {
                next.mark_unsigned = true;
            } else {
                // Signatures that are not, or no longer, valid here: this history goes without them, others are tried
                // with theirs.
                return sent.replay.then_some(Parameters {
                    replay: false,
                    mark_unsigned: true,
                    ..sent
                });
            }
        } else if words.contains("thinking") {
            next.thinking = false;
        }
        (next != sent).then(|| {
            self.remember(model, next);
            next
        })
    }

    fn remember(&self, model: &str, parameters: Parameters) {
        let mut known = self.by_model.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = Parameters {
            replay: true,
            ..parameters
        };
        known.insert(model.to_owned(), kept);
    }
}

/// Whether a model is known to refuse calls without a signature: Gemini 3 and later.
fn wants_signatures(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    let version = name.strip_prefix("gemini-").unwrap_or_default();
    let major: String = version.chars().take_while(char::is_ascii_digit).collect();
    major.parse::<u32>().is_ok_and(|major| major >= 3)
}

/// One Gemini provider.
#[derive(Debug)]
pub struct Gemini {
    provider: String,
    endpoint: Arc<Endpoint>,
    quirks: Arc<Quirks>,
}

impl Gemini {
    /// The provider named `provider`; `settings.base_url` is the part before `/v1beta`, or ends in a version.
    pub fn new(provider: &str, settings: &ProviderSettings) -> Result<Self, EndpointProblem> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        if let Some(key) = &settings.api_key {
            headers.insert(
                HeaderName::from_static("x-goog-api-key"),
                secret_header(key.expose(), "api_key")?,
            );
        }
        let path = match &settings.api_version {
            Some(version) => format!("/{version}"),
            None if ends_in_version(&settings.base_url) => String::new(),
            None => format!("/{DEFAULT_API_VERSION}"),
        };
        Ok(Self {
            provider: provider.to_owned(),
            endpoint: Arc::new(Endpoint::new(provider, settings, &path, headers)?),
            quirks: Arc::default(),
        })
    }
}

fn ends_in_version(base_url: &str) -> bool {
    let last = base_url.trim_end_matches('/').rsplit('/').next();
    last.and_then(|last| last.strip_prefix('v'))
        .is_some_and(|version| version.starts_with(|c: char| c.is_ascii_digit()))
}

impl Model for Gemini {
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
    let mut parameters = quirks.parameters(&request.model);
    let (answer, sent_bytes) = loop {
        let body = wire::body(request, parameters);
        match endpoint
            .post_to(address(endpoint, &request.model), &body)
            .await
        {
            Ok(answer) => break (answer, body.to_string().len()),
            Err(refused) => match learnt(quirks, request, parameters, &refused) {
                Some(next) => parameters = next,
                None => return Err(refused.error),
            },
        }
    };
    let decoder = Box::new(Decoder::new(request.earlier_calls()));
    let limit = sse::limit_for(request.max_output_tokens);
    let outcome =
        exchange::receive_within(endpoint, answer, decoder, sent_bytes, limit, sink).await;
    if let Err(error) = &outcome
        && error.message.contains(MISSING_SIGNATURE)
    {
        let demanded = Parameters {
            mark_unsigned: true,
            ..parameters
        };
        quirks.remember(&request.model, demanded);
    }
    outcome
}

/// The address of one model; `tunedModels/…` and `models/…` name their collection themselves.
fn address(endpoint: &Endpoint, model: &str) -> reqwest::Url {
    let (collection, name) = model
        .split_once('/')
        .filter(|(collection, _)| matches!(*collection, "models" | "tunedModels"))
        .unwrap_or(("models", model));
    endpoint.below(
        &[collection, &format!("{name}:streamGenerateContent")],
        "alt=sse",
    )
}

/// The parameters to try after a refusal, when another try is worth it.
fn learnt(
    quirks: &Quirks,
    request: &ModelRequest,
    sent: Parameters,
    refused: &Refused,
) -> Option<Parameters> {
    match refused.status {
        Some(400) => quirks.learn(&request.model, sent, &refused.words),
        _ => None,
    }
}
