//! OpenAI-compatible Chat Completions.
//!
//! A sampling parameter is sent only where somebody set one. Parameters that some models refuse are dropped when a 400
//! names them, for that model and the life of the provider object.

pub mod decoder;
pub mod thinking;
pub mod wire;

use reqwest::header::AUTHORIZATION;
use serde_json::Value;

use crate::config::settings::ProviderSettings;
use crate::model::http::address::EndpointProblem;
use crate::model::http::{Endpoint, HttpRefusal, has_no_path, host_of};
use crate::model::openai_chat::decoder::{Decoder, FAMILY};
use crate::model::openai_chat::wire::Parameters;
use crate::model::provider::{Adjustment, Provider, Wire, headers};
use crate::model::request::ModelRequest;
use crate::text::framing::Format;

/// Host whose models all take `max_completion_tokens`, the newer ones nothing else.
const OPENAI_HOST: &str = "api.openai.com";

/// One OpenAI-compatible provider.
pub type OpenAiChat = Provider<ChatCompletions>;

/// The Chat Completions API, as one host takes it.
#[derive(Debug)]
pub struct ChatCompletions {
    first: Parameters,
}

impl OpenAiChat {
    /// The provider named `provider`; `settings.base_url` ends in `/v1` or the like, which is added where it is a
    /// server without any path.
    pub fn new(provider: &str, settings: &ProviderSettings) -> Result<Self, EndpointProblem> {
        let headers = headers(settings, Format::Events, AUTHORIZATION)?;
        let path = if has_no_path(&settings.base_url) {
            "/v1/chat/completions"
        } else {
            "/chat/completions"
        };
        let first = Parameters {
            max_completion_tokens: host_of(&settings.base_url).as_deref() == Some(OPENAI_HOST),
            ..Parameters::default()
        };
        let endpoint = Endpoint::new(provider, settings, path, headers)?;
        Ok(Self::at(provider, ChatCompletions { first }, endpoint))
    }
}

impl Wire for ChatCompletions {
    const FAMILY: &'static str = FAMILY;
    type Form = Parameters;
    type Decoder = Decoder;

    fn first(&self, _model: &str) -> Parameters {
        self.first
    }

    fn body(&self, endpoint: &Endpoint, request: &ModelRequest, form: Parameters) -> Value {
        wire::body(request, form, endpoint.host())
    }

    fn note(&self, request: &ModelRequest, form: Parameters) -> Option<String> {
        form.support.note(request)
    }

    fn adjust(
        &self,
        request: &ModelRequest,
        form: Parameters,
        body: &Value,
        refused: &HttpRefusal,
    ) -> Option<Adjustment<Parameters>> {
        match refused.status {
            Some(400 | 422) => form
                .without_refused(request, body, &refused.words)
                .map(|form| Adjustment::after(form, &refused.words)),
            _ => None,
        }
    }

    fn decoder(&self, endpoint: &Endpoint, request: &ModelRequest, _: Parameters) -> Decoder {
        Decoder::new(request.earlier_calls()).of_host(endpoint.host())
    }
}
