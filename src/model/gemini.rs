//! Google Gemini, `generateContent`.
//!
//! The key goes in a header, never in the address. A sampling parameter is sent only where somebody set one. What a model refuses or demands
//! is remembered for the life of the provider object.

pub mod decoder;
pub mod parts;
pub mod wire;

use reqwest::header::HeaderName;
use serde_json::Value;

use crate::config::settings::ProviderSettings;
use crate::model::gemini::decoder::{Decoder, FAMILY};
use crate::model::gemini::parts::MISSING_SIGNATURE;
use crate::model::gemini::wire::Parameters;
use crate::model::http::address::EndpointProblem;
use crate::model::http::{Endpoint, HttpRefusal};
use crate::model::provider::{Adjustment, Provider, Wire, headers};
use crate::model::request::{ModelError, ModelRequest};
use crate::text::framing::Format;

/// The API version asked for where the configuration names none.
pub const DEFAULT_API_VERSION: &str = "v1beta";

/// One Gemini provider.
pub type Gemini = Provider<GenerateContent>;

/// The API of `generateContent`.
#[derive(Debug)]
pub struct GenerateContent;

impl Gemini {
    /// The provider named `provider`; `settings.base_url` is the part before `/v1beta`, or ends in a version.
    pub fn new(provider: &str, settings: &ProviderSettings) -> Result<Self, EndpointProblem> {
        let key_header = HeaderName::from_static("x-goog-api-key");
        let headers = headers(settings, Format::Events, key_header)?;
        let path = match &settings.api_version {
            Some(version) => format!("/{version}"),
            None if ends_in_version(&settings.base_url) => String::new(),
            None => format!("/{DEFAULT_API_VERSION}"),
        };
        let endpoint = Endpoint::new(provider, settings, &path, headers)?;
        Ok(Self::at(provider, GenerateContent, endpoint))
    }
}

fn ends_in_version(base_url: &str) -> bool {
    let last = base_url.trim_end_matches('/').rsplit('/').next();
    last.and_then(|last| last.strip_prefix('v'))
        .is_some_and(|version| version.starts_with(|c: char| c.is_ascii_digit()))
}

impl Wire for GenerateContent {
    const FAMILY: &'static str = FAMILY;
    type Form = Parameters;
    type Decoder = Decoder;

    fn first(&self, model: &str) -> Parameters {
        Parameters::of(model)
    }

    /// `tunedModels/…` and `models/…` name their collection themselves.
    fn url(&self, endpoint: &Endpoint, model: &str) -> reqwest::Url {
        let (collection, name) = model
            .split_once('/')
            .filter(|(collection, _)| matches!(*collection, "models" | "tunedModels"))
            .unwrap_or(("models", model));
        endpoint.below(
            &[collection, &format!("{name}:streamGenerateContent")],
            "alt=sse",
        )
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
            Some(400) => form.after(request, &refused.words),
            _ => None,
        }
    }

    fn decoder(&self, _at: &Endpoint, request: &ModelRequest, _: Parameters) -> Decoder {
        Decoder::new(request.earlier_calls())
    }

    fn demanded(&self, form: Parameters, error: &ModelError) -> Option<Parameters> {
        let unsigned = Parameters {
            mark_unsigned: true,
            ..form
        };
        error
            .message
            .contains(MISSING_SIGNATURE)
            .then(|| unsigned.lasting())
    }
}
