//! Speech as text: `/audio/transcriptions` as OpenAI made it.

use std::sync::Arc;

use reqwest::multipart::{Form, Part};
use serde_json::Value;

use crate::config::settings::{ProviderSettings, TranscriptionSettings};
use crate::model::failure::Failure;
use crate::model::http::Endpoint;
use crate::model::http::address::EndpointProblem;
use crate::model::limits::Limiter;
use crate::model::request::{ModelError, ModelErrorKind};

/// The configured model for speech.
#[derive(Debug, Clone)]
pub struct Transcriber {
    endpoint: Arc<Endpoint>,
    provider: String,
    model: String,
    limiter: Limiter,
}

/// What a call gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transcript {
    /// What is said: outside text.
    pub text: String,
    /// Tokens of the recording, where the server counts them.
    pub input_tokens: Option<u64>,
    /// Tokens of the text, where the server counts them.
    pub output_tokens: Option<u64>,
}

impl Transcriber {
    /// Of a provider, whose bound on calls at once it shares.
    pub fn new(
        settings: &TranscriptionSettings,
        provider: &ProviderSettings,
        limiter: Limiter,
    ) -> Result<Self, EndpointProblem> {
        let path = "/v1/audio/transcriptions";
        let endpoint = Endpoint::of_service(&settings.provider, provider, path)?;
        Ok(Self {
            endpoint: Arc::new(endpoint),
            provider: settings.provider.clone(),
            model: settings.model.clone(),
            limiter,
        })
    }

    /// `<provider>/<model>`.
    pub fn name(&self) -> String {
        format!("{}/{}", self.provider, self.model)
    }

    /// The provider's bound on calls at once.
    pub fn limiter(&self) -> &Limiter {
        &self.limiter
    }

    /// Asks what is said in a recording. Does not wait for a place and does not try again.
    pub async fn transcribe(
        &self,
        name: &str,
        media_type: &str,
        content: Vec<u8>,
    ) -> Result<Transcript, ModelError> {
        let failure = |kind, what: &str| self.endpoint.error(Failure::new(kind, what.to_owned()));
        let part = Part::bytes(content)
            .file_name(name.to_owned())
            .mime_str(media_type)
            .map_err(|_| failure(ModelErrorKind::InvalidRequest, "expected a media type"))?;
        let form = Form::new()
            .text("model", self.model.clone())
            .text("response_format", "json")
            .part("file", part);
        let answer = self.endpoint.whole(self.endpoint.post_form(form)).await?;
        let text = answer.get("text").and_then(Value::as_str);
        let text =
            text.ok_or_else(|| failure(ModelErrorKind::Protocol, "expected a field `text`"))?;
        let count = |pointer| answer.pointer(pointer).and_then(Value::as_u64);
        Ok(Transcript {
            text: text.to_owned(),
            input_tokens: count("/usage/input_tokens"),
            output_tokens: count("/usage/output_tokens"),
        })
    }
}
