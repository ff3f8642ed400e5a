//! Anthropic Messages.
//!
//! A sampling parameter is sent only where somebody set one: newer models and API versions refuse them. Thinking is asked for only where the
//! profile says how much, and no more of a model that has refused the parameter.

pub mod decoder;
pub mod wire;

use reqwest::header::HeaderName;
use serde_json::Value;

use crate::config::settings::ProviderSettings;
use crate::model::anthropic::decoder::{Decoder, FAMILY};
use crate::model::http::address::EndpointProblem;
use crate::model::http::{Endpoint, HttpRefusal, host_of, plain_header};
use crate::model::provider::{Adjustment, Provider, Wire, headers};
use crate::model::request::ModelRequest;
use crate::text::framing::Format;

/// Anthropic's own host.
const OWN_HOST: &str = "api.anthropic.com";
/// The API version sent to Anthropic's own host where the configuration names none.
pub const OWN_API_VERSION: &str = "2026-10-21";
/// The API version sent to any other host: what compatible servers know.
pub const COMPATIBLE_API_VERSION: &str = "2023-06-01";

/// The API version sent where the configuration names none.
pub fn default_api_version(base_url: &str) -> &'static str {
    match host_of(base_url).as_deref() {
        Some(OWN_HOST) => OWN_API_VERSION,
        Some(_) | None => COMPATIBLE_API_VERSION,
    }
}

/// One provider that speaks the Messages API.
pub type Anthropic = Provider<Messages>;

/// The Messages API.
#[derive(Debug)]
pub struct Messages;

impl Anthropic {
    /// The provider named `provider`; `settings.base_url` is the part before `/v1/messages`.
    pub fn new(provider: &str, settings: &ProviderSettings) -> Result<Self, EndpointProblem> {
        let key_header = HeaderName::from_static("x-api-key");
        let mut headers = headers(settings, Format::Events, key_header)?;
        let version = settings
            .api_version
            .as_deref()
            .unwrap_or_else(|| default_api_version(&settings.base_url));
        headers.insert(
            HeaderName::from_static("anthropic-version"),
            plain_header(version, "api_version")?,
        );
        let endpoint = Endpoint::new(provider, settings, "/v1/messages", headers)?;
        Ok(Self::at(provider, Messages, endpoint))
    }
}

impl Wire for Messages {
    const FAMILY: &'static str = FAMILY;
    type Form = wire::Parameters;
    type Decoder = Decoder;

    fn first(&self, _model: &str) -> wire::Parameters {
        wire::Parameters::default()
    }

    fn body(&self, _at: &Endpoint, request: &ModelRequest, form: wire::Parameters) -> Value {
        wire::body(request, form)
    }

    fn note(&self, request: &ModelRequest, form: wire::Parameters) -> Option<String> {
        form.support.note(request)
    }

    fn adjust(
        &self,
        request: &ModelRequest,
        form: wire::Parameters,
        body: &Value,
        refused: &HttpRefusal,
    ) -> Option<Adjustment<wire::Parameters>> {
        match refused.status {
            Some(400 | 422) => form
                .without_refused(request, body, &refused.words)
                .map(|form| Adjustment::after(form, &refused.words)),
            _ => None,
        }
    }

    fn decoder(&self, _at: &Endpoint, request: &ModelRequest, _: wire::Parameters) -> Decoder {
        Decoder::new(request.earlier_calls())
    }
}
