//! Anthropic Messages.
//!
//! No sampling parameter is ever sent: newer models and API versions refuse them.

pub mod decoder;
pub mod wire;

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use reqwest::header::{ACCEPT, HeaderMap, HeaderName, HeaderValue};

use crate::config::settings::ProviderSettings;
use crate::model::anthropic::decoder::{Decoder, FAMILY};
use crate::model::failure::Failure;
use crate::model::http::{
    Answer, Endpoint, EndpointProblem, plain_header, secret_header, with_causes,
};
use crate::model::producer::{EventSink, produce};
use crate::model::request::{
    Model, ModelError, ModelEvent, ModelMessage, ModelRequest, ModelStream,
};
use crate::model::sse;

/// The API version sent where the configuration names none.
pub const DEFAULT_API_VERSION: &str = "2023-06-01";

/// One provider that speaks the Messages API.
#[derive(Debug)]
pub struct Anthropic {
    provider: String,
    endpoint: Arc<Endpoint>,
}

impl Anthropic {
    /// The provider named `provider`; `settings.base_url` is the part before `/v1/messages`.
    pub fn new(provider: &str, settings: &ProviderSettings) -> Result<Self, EndpointProblem> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        if let Some(key) = &settings.api_key {
            headers.insert(
                HeaderName::from_static("x-api-key"),
                secret_header(key.expose(), "api_key")?,
            );
        }
        let version = settings
            .api_version
            .as_deref()
            .unwrap_or(DEFAULT_API_VERSION);
        headers.insert(
            HeaderName::from_static("anthropic-version"),
            plain_header(version, "api_version")?,
        );
        Ok(Self {
            provider: provider.to_owned(),
            endpoint: Arc::new(Endpoint::new(provider, settings, "/v1/messages", headers)?),
        })
    }
}

impl Model for Anthropic {
    fn provider(&self) -> &str {
        &self.provider
    }

    fn family(&self) -> &'static str {
        FAMILY
    }

    fn stream(&self, request: ModelRequest) -> ModelStream {
        let endpoint = Arc::clone(&self.endpoint);
        produce(move |sink| async move { call(&endpoint, &request, &sink).await })
    }
}

async fn call(
    endpoint: &Endpoint,
    request: &ModelRequest,
    sink: &EventSink,
) -> Result<(), ModelError> {
    let body = wire::body(request);
    let sent_bytes = body.to_string().len();
    let answer = endpoint
        .post(&body)
        .await
        .map_err(|refused| refused.error)?;
    let earlier_calls = request.messages.iter().map(|message| match message {
        ModelMessage::Assistant { tool_calls, .. } => tool_calls.len(),
        ModelMessage::User { .. } | ModelMessage::ToolResults { .. } => 0,
    });
    let mut decoder = Decoder::new(earlier_calls.sum());
    let outcome = match answer {
        Answer::Whole(value) => match decoder.whole(&value) {
            Ok(events) => {
                for event in events {
                    sink.send(event).await;
                }
                Ok(())
            }
            Err(failure) => Err(failure),
        },
        Answer::Events(response) => {
            let bytes = response
                .bytes_stream()
                .map(|chunk| chunk.map_err(|error| with_causes(&error.without_url())));
            read(bytes, endpoint.idle_timeout(), &mut decoder, sink).await
        }
    };
    let answer = outcome
        .and_then(|()| decoder.finish(sent_bytes))
        .map_err(|failure| endpoint.error(failure))?;
    sink.send(ModelEvent::Finished(Box::new(answer))).await;
    Ok(())
}

async fn read<S, B>(
    bytes: S,
    idle: Duration,
    decoder: &mut Decoder,
    sink: &EventSink,
) -> Result<(), Failure>
where
    S: futures_util::Stream<Item = Result<B, String>> + Send,
    B: AsRef<[u8]> + Send,
{
    let mut events = std::pin::pin!(sse::events(bytes, idle));
    while let Some(next) = events.next().await {
        let event = next.map_err(Endpoint::stream_failure)?;
        for event in decoder.data(&event.data)? {
            sink.send(event).await;
        }
        if decoder.is_complete() {
            sse::drain(events).await;
            return Ok(());
        }
    }
    Ok(())
}
