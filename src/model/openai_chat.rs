//! OpenAI-compatible Chat Completions.
//!
//! No sampling parameter is ever sent. Parameters that some models refuse are dropped when a 400 names
//! them, for that model and the life of the provider object.

pub mod decoder;
pub mod thinking;
pub mod wire;

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderMap, HeaderValue};

use crate::config::settings::ProviderSettings;
use crate::model::failure::Failure;
use crate::model::http::{
    Answer, Endpoint, EndpointProblem, Refused, has_no_path, host_of, secret_header, with_causes,
};
use crate::model::learnt::Learnt;
use crate::model::openai_chat::decoder::{Decoder, FAMILY, Progress};
use crate::model::producer::{EventSink, produce};
use crate::model::request::{
    Model, ModelError, ModelEvent, ModelMessage, ModelRequest, ModelStream,
};
use crate::model::sse::{self, SseError, SseEvent};

/// How long to wait for usage and `[DONE]` after a `finish_reason`: some servers never send them.
const GRACE_AFTER_FINISH: Duration = Duration::from_secs(2);

/// Host whose models all take `max_completion_tokens`, the newer ones nothing else.
const OPENAI_HOST: &str = "api.openai.com";

/// One OpenAI-compatible provider.
#[derive(Debug)]
pub struct OpenAiChat {
    provider: String,
    endpoint: Arc<Endpoint>,
    learnt: Arc<Learnt<wire::Parameters>>,
}

impl OpenAiChat {
    /// The provider named `provider`; `settings.base_url` ends in `/v1` or the like, which is added where it is a
    /// server without any path.
    pub fn new(provider: &str, settings: &ProviderSettings) -> Result<Self, EndpointProblem> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        if let Some(key) = &settings.api_key {
            headers.insert(
                AUTHORIZATION,
                secret_header(&format!("Bearer {}", key.expose()), "api_key")?,
            );
        }
        let path = if has_no_path(&settings.base_url) {
            "/v1/chat/completions"
        } else {
            "/chat/completions"
        };
        let first = wire::Parameters {
            max_completion_tokens: host_of(&settings.base_url).as_deref() == Some(OPENAI_HOST),
            ..wire::Parameters::default()
        };
        Ok(Self {
            provider: provider.to_owned(),
            endpoint: Arc::new(Endpoint::new(provider, settings, path, headers)?),
            learnt: Arc::new(Learnt::new(first)),
        })
    }
}

impl Model for OpenAiChat {
    fn provider(&self) -> &str {
        &self.provider
    }

    fn family(&self) -> &'static str {
        FAMILY
    }

    fn stream(&self, request: ModelRequest) -> ModelStream {
        let endpoint = Arc::clone(&self.endpoint);
        let learnt = Arc::clone(&self.learnt);
        produce(move |sink| async move { call(&endpoint, &learnt, &request, &sink).await })
    }
}

async fn call(
    endpoint: &Endpoint,
    learnt: &Learnt<wire::Parameters>,
    request: &ModelRequest,
    sink: &EventSink,
) -> Result<(), ModelError> {
    let (answer, sent_bytes) = loop {
        let parameters = learnt.of(&request.model);
        let body = wire::body(request, parameters, endpoint.host());
        match endpoint.post(&body).await {
            Ok(answer) => break (answer, body.to_string().len()),
            Err(Refused {
                status: Some(400 | 422),
                words,
                error,
            }) => match parameters.without_refused(&body, &words) {
                Some(fewer) => learnt.set(&request.model, fewer),
                None => return Err(error),
            },
            Err(refused) => return Err(refused.error),
        }
    };
    let mut decoder = Decoder::new(earlier_calls(request));
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
            let limit = sse::limit_for(request.max_output_tokens);
            let events = sse::events_within(bytes, endpoint.idle_timeout(), limit);
            read(events, &mut decoder, sink).await
        }
    };
    let mut answer = outcome
        .and_then(|()| decoder.finish(sent_bytes))
        .map_err(|failure| endpoint.error(failure))?;
    if let Some(native) = &mut answer.native {
        native.content[wire::HOST] = endpoint.host().into();
    }
    sink.send(ModelEvent::Finished(Box::new(answer))).await;
    Ok(())
}

async fn read<S>(events: S, decoder: &mut Decoder, sink: &EventSink) -> Result<(), Failure>
where
    S: futures_util::Stream<Item = Result<SseEvent, SseError>> + Send,
{
    let mut events = std::pin::pin!(events);
    loop {
        let next = match decoder.progress() {
            Progress::Done => {
                sse::drain(events).await;
                return Ok(());
            }
            Progress::Open => events.next().await,
            Progress::Finishing => {
                match tokio::time::timeout(GRACE_AFTER_FINISH, events.next()).await {
                    Ok(next) => next,
                    Err(_) => return Ok(()),
                }
            }
        };
        match next {
            None => return Ok(()),
            Some(Ok(event)) => {
                for event in decoder.data(&event.data)? {
                    sink.send(event).await;
                }
            }
            // The answer itself was complete; only its trailer is lost.
            Some(Err(_)) if decoder.progress() == Progress::Finishing => return Ok(()),
            Some(Err(error)) => return Err(Endpoint::stream_failure(error)),
        }
    }
}

fn earlier_calls(request: &ModelRequest) -> usize {
    request
        .messages
        .iter()
        .map(|message| match message {
            ModelMessage::Assistant { tool_calls, .. } => tool_calls.len(),
            ModelMessage::User { .. } | ModelMessage::ToolResults { .. } => 0,
        })
        .sum()
}
