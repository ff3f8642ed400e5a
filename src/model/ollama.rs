//! Ollama's native `/api/chat`.
//!
//! A sampling parameter is sent only where somebody set one. What a model says it does not support is left out for the life of the provider
//! object, and each answer that came without tools says so.

pub mod decoder;
pub mod wire;

use reqwest::header::AUTHORIZATION;
use serde_json::Value;

use crate::config::settings::ProviderSettings;
use crate::model::http::address::EndpointProblem;
use crate::model::http::{Endpoint, HttpRefusal};
use crate::model::ollama::decoder::{Decoder, FAMILY};
use crate::model::ollama::wire::Parameters;
use crate::model::provider::{Adjustment, Provider, Wire, headers};
use crate::model::request::{ModelError, ModelErrorKind, ModelRequest};
use crate::text::framing::Format;

/// One Ollama server.
pub type Ollama = Provider<ChatLines>;

/// The API of `/api/chat`.
#[derive(Debug)]
pub struct ChatLines;

impl Ollama {
    /// The provider named `provider`; `settings.base_url` is the part before `/api/chat`. A key is sent only where
    /// one is configured: servers of one's own want none.
    pub fn new(provider: &str, settings: &ProviderSettings) -> Result<Self, EndpointProblem> {
        let headers = headers(settings, Format::JsonLines, AUTHORIZATION)?;
        let endpoint = Endpoint::new(provider, settings, "/api/chat", headers)?;
        Ok(Self::at(
            provider,
            ChatLines,
            endpoint.answering_in(Format::JsonLines),
        ))
    }
}

impl Wire for ChatLines {
    const FAMILY: &'static str = FAMILY;
    type Form = Parameters;
    type Decoder = Decoder;

    fn first(&self, _model: &str) -> Parameters {
        Parameters::default()
    }

    fn body(&self, _at: &Endpoint, request: &ModelRequest, form: Parameters) -> Value {
        wire::body(request, form)
    }

    fn note(&self, request: &ModelRequest, form: Parameters) -> Option<String> {
        form.support.note(request)
    }

    fn adjust(
        &self,
        request: &ModelRequest,
        form: Parameters,
        _body: &Value,
        refused: &HttpRefusal,
    ) -> Option<Adjustment<Parameters>> {
        match refused.status {
            Some(400) => form
                .without_refused(request, &refused.words)
                .map(|form| Adjustment::after(form, &refused.words)),
            _ => None,
        }
    }

    fn decoder(&self, _at: &Endpoint, request: &ModelRequest, form: Parameters) -> Decoder {
        let mut decoder = Decoder::new(request.earlier_calls());
        if !form.tools && !request.tools.is_empty() {
            decoder.note(format!(
                "the model {} takes no tools; it was asked without them",
                request.model
            ));
        }
        decoder
    }

    /// A model that was never fetched is the usual reason for a 404, and one command helps.
    fn refusal(&self, request: &ModelRequest, refused: HttpRefusal) -> ModelError {
        let mut error = refused.error;
        if error.kind == ModelErrorKind::NotFound && refused.words.contains("model") {
            let hint = format!("; `ollama pull {}` fetches it", request.model);
            error.message.push_str(&hint);
        }
        error
    }
}
