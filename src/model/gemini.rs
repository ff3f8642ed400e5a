//! Google Gemini, `generateContent`.
//!
//! The key goes in a header, never in the address. No sampling parameter is ever sent. What a model refuses or demands
//! is remembered for the life of the provider object.

pub mod decoder;
pub mod parts;
pub mod wire;

use std::sync::Arc;

use reqwest::header::{ACCEPT, HeaderMap, HeaderName, HeaderValue};

use crate::config::settings::ProviderSettings;
use crate::model::exchange;
use crate::model::gemini::decoder::{Decoder, FAMILY};
use crate::model::gemini::parts::MISSING_SIGNATURE;
use crate::model::gemini::wire::Parameters;
use crate::model::http::address::EndpointProblem;
use crate::model::http::{Endpoint, secret_header};
use crate::model::learnt::Learnt;
use crate::model::producer::{EventSink, produce};
use crate::model::request::{Model, ModelError, ModelRequest, ModelStream};
use crate::model::sse;

/// The API version asked for where the configuration names none.
pub const DEFAULT_API_VERSION: &str = "v1beta";

/// One Gemini provider.
#[derive(Debug)]
pub struct Gemini {
    provider: String,
    endpoint: Arc<Endpoint>,
    learnt: Arc<Learnt<Parameters>>,
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
            learnt: Arc::default(),
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
            address(endpoint, &request.model),
            (&request.model, Parameters::of(&request.model)),
            |parameters| wire::body(request, parameters),
            |parameters, _, refused| match refused.status {
                Some(400) => parameters.after(&refused.words),
                _ => None,
            },
        )
        .await
        .map_err(|refused| refused.error)?;
    let decoder = Box::new(Decoder::new(request.earlier_calls()));
    let limit = sse::limit_for(request.max_output_tokens);
    let (answer, sent_bytes) = (asked.answer, asked.sent_bytes);
    let outcome =
        exchange::receive_within(endpoint, answer, decoder, sent_bytes, limit, sink).await;
    if let Err(error) = &outcome
        && error.message.contains(MISSING_SIGNATURE)
    {
        let demanded = Parameters {
            mark_unsigned: true,
            ..asked.parameters
        };
        learnt.set(&request.model, demanded.lasting());
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
