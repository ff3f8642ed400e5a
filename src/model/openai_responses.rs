//! OpenAI Responses.
//!
//! Nothing is kept at the server; a sampling parameter is sent only where somebody set one. Optional parameters that a
//! model refuses are
//! dropped when a 400 names them, for the life of the provider object; earlier reasoning that the server does not take
//! back is left out of one repetition.

pub mod decoder;
pub mod items;
pub mod wire;

use reqwest::Url;
use reqwest::header::AUTHORIZATION;
use serde_json::Value;

use crate::config::settings::ProviderSettings;
use crate::model::http::address::EndpointProblem;
use crate::model::http::{Endpoint, HttpRefusal};
use crate::model::openai_responses::decoder::{Decoder, FAMILY};
use crate::model::openai_responses::wire::{Parameters, Replay};
use crate::model::provider::{Adjustment, Provider, Wire, headers};
use crate::model::request::{ModelMessage, ModelRequest};
use crate::text::framing::Format;

/// One provider that speaks the Responses API.
pub type OpenAiResponses = Provider<Responses>;

/// The Responses API.
#[derive(Debug)]
pub struct Responses;

impl OpenAiResponses {
    /// The provider named `provider`; `settings.base_url` is the part before `/responses`, and `/v1` is meant where it
    /// names a host only.
    pub fn new(provider: &str, settings: &ProviderSettings) -> Result<Self, EndpointProblem> {
        let headers = headers(settings, Format::Events, AUTHORIZATION)?;
        let host_only = Url::parse(&settings.base_url).is_ok_and(|url| url.path() == "/");
        let path = if host_only {
            "/v1/responses"
        } else {
            "/responses"
        };
        let endpoint = Endpoint::new(provider, settings, path, headers)?;
        Ok(Self::at(provider, Responses, endpoint))
    }
}

/// How a request is put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestForm {
    parameters: Parameters,
    /// Never kept for a model: it is about one history.
    replay: Replay,
}

const FIRST: Replay = Replay::Native;

impl Wire for Responses {
    const FAMILY: &'static str = FAMILY;
    type Form = RequestForm;
    type Decoder = Decoder;

    fn first(&self, _model: &str) -> RequestForm {
        RequestForm {
            parameters: Parameters::default(),
            replay: FIRST,
        }
    }

    fn body(&self, _at: &Endpoint, request: &ModelRequest, form: RequestForm) -> Value {
        wire::body(request, form.parameters, form.replay)
    }

    fn note(&self, request: &ModelRequest, form: RequestForm) -> Option<String> {
        form.parameters.support.note(request)
    }

    fn adjust(
        &self,
        request: &ModelRequest,
        form: RequestForm,
        _body: &Value,
        refused: &HttpRefusal,
    ) -> Option<Adjustment<RequestForm>> {
        after(request, form, refused)
    }

    fn decoder(&self, _at: &Endpoint, request: &ModelRequest, _: RequestForm) -> Decoder {
        Decoder::new(request.earlier_calls())
    }
}

/// What follows from a refusal.
fn after(
    request: &ModelRequest,
    sent: RequestForm,
    refused: &HttpRefusal,
) -> Option<Adjustment<RequestForm>> {
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
        return Some(Adjustment::once(flat));
    }
    if !matches!(status, 400 | 422) {
        return None;
    }
    let next = RequestForm {
        parameters: sent.parameters.without_refused(request, words)?,
        ..sent
    };
    let kept = RequestForm {
        replay: FIRST,
        ..next
    };
    Some(Adjustment {
        next,
        kept: Some(kept),
    })
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
