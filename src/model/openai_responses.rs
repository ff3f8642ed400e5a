//! OpenAI Responses.
//!
//! Nothing is kept at the server and no sampling parameter is ever sent. Optional parameters that a model refuses are
//! dropped when a 400 names them, for the life of the provider object; earlier reasoning that the server does not take
//! back is left out of one repetition.

pub mod decoder;
pub mod items;
pub mod wire;

use std::sync::Arc;

use reqwest::Url;
use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderMap, HeaderValue};

use crate::config::settings::ProviderSettings;
use crate::model::http::address::EndpointProblem;
use crate::model::http::{Endpoint, HttpRefusal, secret_header};
use crate::model::learnt::{Learnt, Lesson};
use crate::model::openai_responses::decoder::{Decoder, FAMILY};
use crate::model::openai_responses::wire::{Parameters, Replay};
use crate::model::producer::{EventSink, produce};
use crate::model::request::{Model, ModelError, ModelMessage, ModelRequest, ModelStream};
use crate::model::{exchange, sse};

/// One provider that speaks the Responses API.
#[derive(Debug)]
pub struct OpenAiResponses {
    provider: String,
    endpoint: Arc<Endpoint>,
    learnt: Arc<Learnt<RequestForm>>,
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
            learnt: Arc::default(),
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
        let learnt = Arc::clone(&self.learnt);
        let provider = self.provider.clone();
        produce(move |sink| async move {
            let call = call(&provider, &endpoint, &learnt, &request, &sink);
            exchange::in_time(&endpoint, &sink, call).await
        })
    }
}

/// How a request is put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct RequestForm {
    parameters: Parameters,
    /// Never learnt of a model: it is about one history.
    replay: Replay,
}

const FIRST: Replay = Replay::Native;

async fn call(
    provider: &str,
    endpoint: &Endpoint,
    learnt: &Learnt<RequestForm>,
    request: &ModelRequest,
    sink: &EventSink,
) -> Result<(), ModelError> {
    let first = RequestForm {
        parameters: Parameters::default(),
        replay: FIRST,
    };
    let asked = learnt
        .ask(
            endpoint,
            endpoint.url(),
            (&request.model, first),
            |sent| wire::body(request, sent.parameters, sent.replay),
            |sent, _, refused| {
                let (lesson, what) = after(request, sent, refused)?;
                tracing::info!(provider, model = request.model, "{what}");
                Some(lesson)
            },
        )
        .await
        .map_err(|refused| refused.error)?;
    let decoder = Box::new(Decoder::new(request.earlier_calls()));
    let limit = sse::limit_for(request.max_output_tokens);
    let (answer, sent_bytes) = (asked.answer, asked.sent_bytes);
    exchange::receive_within(endpoint, answer, decoder, sent_bytes, limit, sink).await
}

/// What follows from a refusal, and in words.
fn after(
    request: &ModelRequest,
    sent: RequestForm,
    refused: &HttpRefusal,
) -> Option<(Lesson<RequestForm>, &'static str)> {
    let (status, words) = (refused.status?, refused.words.as_str());
    if matches!(status, 400 | 404 | 422)
        && sent.replay == FIRST
        && replays(request)
        && misses_reasoning(words)
    {
        let flat = RequestForm {
            replay: Replay::Flat,
            ..sent
        };
        let what =
            "the server does not take earlier reasoning items back; asking again without them";
        return Some((Lesson::once(flat), what));
    }
    if !matches!(status, 400 | 422) {
        return None;
    }
    let next = RequestForm {
        parameters: sent.parameters.without_refused(words)?,
        ..sent
    };
    let kept = RequestForm {
        replay: FIRST,
        ..next
    };
    let lesson = Lesson {
        next,
        kept: Some(kept),
    };
    Some((
        lesson,
        "the server refuses an optional parameter; asking again without it",
    ))
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
