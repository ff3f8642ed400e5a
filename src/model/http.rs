//! The HTTP side that all network adapters share: one way to connect, post and report failures.
//!
//! No redirect is followed, no body is read without a bound, and no key, user name, path or query of a
//! URL reaches an error message.

pub mod address;
mod connect;
pub mod wait;

use std::sync::OnceLock;
use std::time::Duration;

use futures_util::StreamExt;
use reqwest::header::{
    ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName,
    HeaderValue,
};
use reqwest::multipart::Form;
use reqwest::{Client, Response, Url};
use serde_json::Value;

use crate::config::providers;
use crate::config::settings::{ProviderSettings, Secret};
use crate::model::failure::{self, Failure, ProviderError, excerpt, page_excerpt};
use crate::model::http::address::{EndpointProblem, join};
pub use crate::model::http::address::{has_no_path, host_of, is_loopback_address};
use crate::model::http::connect::obstacle;
pub use crate::model::http::connect::{client_for, with_causes};
use crate::model::http::wait::retry_after;
use crate::model::request::{ModelError, ModelErrorKind};
use crate::model::surrogates;
use crate::text::framing::{Format, StreamError};

/// Most bytes read of the body of a failed request.
const MAX_ERROR_BODY: usize = 16 * 1024;
/// Most bytes read of an answer that came whole although a stream was asked for.
const MAX_WHOLE_BODY: usize = 8 * 1024 * 1024;

/// Where a provider is and how to talk to it.
#[derive(Debug)]
pub struct Endpoint {
    provider: String,
    host: String,
    url: Url,
    headers: HeaderMap,
    api_key: Option<Secret>,
    key_from: Option<String>,
    connect_timeout: Duration,
    first_byte_timeout: Duration,
    idle_timeout: Duration,
    request_timeout: Option<Duration>,
    format: Format,
    whole: bool,
    client: OnceLock<Result<Client, String>>,
}

/// What is posted.
enum Body<'a> {
    Json(&'a Value),
    Form(Form),
}

/// A successful answer, by what the server chose to send.
pub enum Answer {
    /// The stream that was asked for: events, or lines.
    Events(Response),
    /// One JSON value, although a stream was asked for.
    Whole(Value),
}

/// A request that was not answered with success.
#[derive(Debug)]
pub struct HttpRefusal {
    /// HTTP status, when there was an answer.
    pub status: Option<u16>,
    /// The provider's words, lower case.
    pub words: String,
    /// What to report when nothing can be done about it.
    pub error: ModelError,
}

impl Endpoint {
    /// The endpoint `base_url` + `path`. `headers` are sent with each request.
    pub fn new(
        provider: &str,
        settings: &ProviderSettings,
        path: &str,
        headers: HeaderMap,
    ) -> Result<Self, EndpointProblem> {
        let url = join(&settings.base_url, path)?;
        let host = match (url.host_str(), url.port()) {
            (Some(host), Some(port)) => format!("{host}:{port}"),
            (Some(host), None) => host.to_owned(),
            (None, _) => return Err(EndpointProblem::BaseUrl("it has no host".to_owned())),
        };
        Ok(Self {
            provider: provider.to_owned(),
            host,
            url,
            headers,
            api_key: settings.api_key.clone(),
            key_from: settings.tuning.key_from.clone(),
            connect_timeout: Duration::from_secs(settings.connect_timeout_seconds),
            first_byte_timeout: Duration::from_secs(settings.first_byte_timeout_seconds),
            idle_timeout: Duration::from_secs(settings.idle_timeout_seconds),
            request_timeout: Some(settings.request_timeout_seconds)
                .filter(|seconds| *seconds > 0)
                .map(Duration::from_secs),
            format: Format::Events,
            whole: false,
            client: OnceLock::new(),
        })
    }

    /// Another service of a provider, which answers with one JSON value. A path below `/v1` goes there only where the
    /// base URL has no path of its own.
    pub fn of_service(
        provider: &str,
        settings: &ProviderSettings,
        path: &str,
    ) -> Result<Self, EndpointProblem> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        if let Some(key) = &settings.api_key {
            let bearer = format!("Bearer {}", key.expose());
            headers.insert(AUTHORIZATION, secret_header(&bearer, "api_key")?);
        }
        let mut settings = settings.clone();
        // People give the whole address of the one or the other.
        for path in ["/chat/completions", "/responses"] {
            let base = settings.base_url.trim_end_matches('/');
            if let Some(base) = base.strip_suffix(path) {
                settings.base_url = base.to_owned();
            }
        }
        let below = path.strip_prefix("/v1");
        let path = match below {
            Some(below) if !has_no_path(&settings.base_url) => below,
            Some(_) | None => path,
        };
        let endpoint = Self::new(provider, &settings, path, headers)?;
        Ok(Self {
            whole: true,
            ..endpoint
        })
    }

    /// The one JSON value of an answer, within the longest time for it.
    pub async fn whole(
        &self,
        asked: impl Future<Output = Result<Answer, HttpRefusal>>,
    ) -> Result<Value, ModelError> {
        let answer = match self.request_timeout {
            Some(most) => tokio::time::timeout(most, asked).await.map_err(|_| {
                let what = format!("expected the whole answer within {} s", most.as_secs());
                self.error(Failure::new(ModelErrorKind::Timeout, what))
            })?,
            None => asked.await,
        };
        match answer {
            Ok(Answer::Whole(answer)) => Ok(answer),
            Ok(Answer::Events(_)) => Err(self.error(Failure::new(
                ModelErrorKind::Protocol,
                "expected JSON, got an answer without a content type".to_owned(),
            ))),
            Err(refused) => Err(refused.error),
        }
    }

    /// Host, with the port where the URL names one.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Its address.
    pub fn url(&self) -> Url {
        self.url.clone()
    }

    /// The same endpoint, whose stream has this format in place of events.
    pub fn answering_in(mut self, format: Format) -> Self {
        self.format = format;
        self
    }

    /// The format of its stream.
    pub fn format(&self) -> Format {
        self.format
    }

    /// The address below this endpoint's: `segments` are escaped, so that no name can change what is asked for.
    pub fn below(&self, segments: &[&str], query: &str) -> Url {
        let mut url = self.url.clone();
        // A URL with a host, as every endpoint's, can always be extended.
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(segments);
        }
        url.set_query(Some(query));
        url
    }

    /// Longest silence inside an answer.
    pub fn idle_timeout(&self) -> Duration {
        self.idle_timeout
    }

    /// Longest time from sending a call to the end of its answer; none = no bound.
    pub fn request_timeout(&self) -> Option<Duration> {
        self.request_timeout
    }

    /// The error for `failure`, with provider, host and next step.
    pub fn error(&self, failure: Failure) -> ModelError {
        let what = self.without_key(failure.what);
        let variable = providers::key_variable(&self.provider)
            .filter(|_| failure.kind == ModelErrorKind::Authentication && self.key_from.is_none())
            .map_or_else(String::new, |variable| {
                format!("; its usual variable is {variable}")
            });
        ModelError {
            kind: failure.kind,
            message: format!(
                "provider {} ({}): {what}; {}{}{variable}",
                self.provider,
                self.host,
                failure::next_step(failure.kind),
                self.key_hint(failure.kind)
            ),
            retry_after: None,
            usage: failure.usage,
        }
    }

    /// Where the key that was refused is from.
    fn key_hint(&self, kind: ModelErrorKind) -> String {
        match (&self.key_from, kind) {
            (Some(from), ModelErrorKind::Authentication) => format!(" (it is taken from {from})"),
            (None, ModelErrorKind::Authentication) if self.api_key.is_none() => {
                " (none is configured)".to_owned()
            }
            _ => String::new(),
        }
    }

    /// `text` without our key: a server may echo what it was sent.
    fn without_key(&self, text: String) -> String {
        match &self.api_key {
            Some(key) if !key.expose().is_empty() => text.replace(key.expose(), "[key]"),
            Some(_) | None => text,
        }
    }

    /// The failure that `error` of the event reader is.
    pub fn stream_failure(error: StreamError) -> Failure {
        let kind = match &error {
            StreamError::Transport(_) => ModelErrorKind::Disconnected,
            StreamError::Idle(_) => ModelErrorKind::Timeout,
            StreamError::Malformed(_) => ModelErrorKind::Protocol,
        };
        Failure::new(kind, format!("the answer broke off: {error}"))
    }

    /// Posts `body` to [`Endpoint::url`] or an address from [`Endpoint::below`]; checks status and content type.
    pub async fn post_to(&self, url: Url, body: &Value) -> Result<Answer, HttpRefusal> {
        self.post(url, Body::Json(body)).await
    }

    /// Posts a form with files to [`Endpoint::url`]; checks status and content type.
    pub async fn post_form(&self, form: Form) -> Result<Answer, HttpRefusal> {
        self.post(self.url(), Body::Form(form)).await
    }

    async fn post(&self, url: Url, body: Body<'_>) -> Result<Answer, HttpRefusal> {
        let client = self
            .client
            .get_or_init(|| client_for(&self.url, self.connect_timeout))
            .as_ref()
            .map_err(|why| {
                self.unanswered(ModelErrorKind::Unreachable, format!("no TLS: {why}"))
            })?;
        let request = client
            .post(url)
            .headers(self.headers.clone())
            // Nothing here decompresses: a stream must come as it is written.
            .header(ACCEPT_ENCODING, "identity");
        let sending = match body {
            Body::Json(body) => request.json(body),
            Body::Form(form) => request.multipart(form),
        }
        .send();
        let response = match tokio::time::timeout(self.first_byte_timeout, sending).await {
            Err(_) => {
                return Err(self.unanswered(
                    ModelErrorKind::Timeout,
                    format!(
                        "expected an answer to begin within {} s, none did",
                        self.first_byte_timeout.as_secs_f64()
                    ),
                ));
            }
            Ok(Err(error)) => return Err(self.not_sent(error)),
            Ok(Ok(response)) => response,
        };
        if !response.status().is_success() {
            return Err(self.refused(response).await);
        }
        let header = |name: HeaderName| {
            let value = response.headers().get(name);
            let text = value.and_then(|value| value.to_str().ok());
            text.unwrap_or_default().trim().to_ascii_lowercase()
        };
        let encoding = header(CONTENT_ENCODING);
        if !matches!(encoding.as_str(), "" | "identity") {
            return Err(self.unanswered(
                ModelErrorKind::Protocol,
                format!(
                    "expected an answer that is not compressed, got content-encoding {}: a proxy in between \
                     compresses although it was asked not to",
                    excerpt(&encoding)
                ),
            ));
        }
        let content_type = header(CONTENT_TYPE);
        let wanted = match self.format {
            Format::JsonLines => "JSON lines",
            Format::Events if self.whole => "JSON",
            Format::Events => "an event stream",
        };
        if content_type.is_empty() || content_type.starts_with(self.format.media_type()) {
            return Ok(Answer::Events(response));
        }
        if !content_type.contains("json") {
            let (body, _) = self.read_body(response, MAX_ERROR_BODY).await;
            return Err(self.unanswered(
                ModelErrorKind::Protocol,
                format!(
                    "expected {wanted}, got {}: not an LLM endpoint? It begins: {}",
                    excerpt(&content_type),
                    page_excerpt(&body)
                ),
            ));
        }
        let (body, complete) = self.read_body(response, MAX_WHOLE_BODY).await;
        match (surrogates::parse(&body), complete) {
            (Ok(value), Ok(())) => Ok(Answer::Whole(value)),
            (_, Err(failure)) => Err(self.unanswered(failure.kind, failure.what)),
            (Err(_), Ok(())) => Err(self.unanswered(
                ModelErrorKind::Protocol,
                format!("expected JSON, got: {}", excerpt(&body)),
            )),
        }
    }

    fn unanswered(&self, kind: ModelErrorKind, what: String) -> HttpRefusal {
        HttpRefusal {
            status: None,
            words: String::new(),
            error: self.error(Failure::new(kind, what)),
        }
    }

    fn not_sent(&self, error: reqwest::Error) -> HttpRefusal {
        let error = error.without_url();
        let kind = if error.is_connect() {
            ModelErrorKind::Unreachable
        } else if error.is_timeout() {
            ModelErrorKind::Timeout
        } else {
            ModelErrorKind::Disconnected
        };
        let causes = with_causes(&error);
        let what = if !error.is_connect() {
            format!("no answer: {causes}")
        } else if error.is_timeout() {
            format!(
                "could not connect within {} s",
                self.connect_timeout.as_secs_f64()
            )
        } else {
            match obstacle(&error) {
                Some(obstacle) => format!("could not connect: {obstacle}: {causes}"),
                None => format!("could not connect: {causes}"),
            }
        };
        self.unanswered(kind, what)
    }

    async fn refused(&self, response: Response) -> HttpRefusal {
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        if response.status().is_redirection() {
            let target = headers
                .get(reqwest::header::LOCATION)
                .and_then(|value| value.to_str().ok())
                .and_then(|text| self.url.join(text).ok())
                .and_then(|url| url.host_str().map(str::to_owned))
                .unwrap_or_else(|| "an unnamed place".to_owned());
            return HttpRefusal {
                status: Some(status),
                ..self.unanswered(
                    ModelErrorKind::NotFound,
                    format!(
                        "it answered with a redirect ({status}) to {}; redirects are not followed, \
                         because the key would go along",
                        excerpt(&target)
                    ),
                )
            };
        }
        let (body, _) = self.read_body(response, MAX_ERROR_BODY).await;
        let described = described_error(&body);
        let should_retry = headers
            .get("x-should-retry")
            .and_then(|value| value.to_str().ok())
            .and_then(|text| text.trim().parse().ok());
        let kind = failure::classify_status(status, &described, should_retry);
        let told = if described.message.is_empty() {
            String::new()
        } else {
            format!(": {}", excerpt(&described.message))
        };
        let mut error = self.error(Failure::new(kind, format!("it answered {status}{told}")));
        error.retry_after = retry_after(&headers).or(described.retry_after);
        HttpRefusal {
            status: Some(status),
            words: format!("{} {}", described.code, described.message).to_lowercase(),
            error,
        }
    }

    /// At most `limit` bytes of the body; the second part says whether that was all of it.
    async fn read_body(&self, response: Response, limit: usize) -> (String, Result<(), Failure>) {
        let mut bytes: Vec<u8> = Vec::new();
        let mut stream = response.bytes_stream();
        let mut end = Ok(());
        loop {
            match tokio::time::timeout(self.idle_timeout, stream.next()).await {
                Err(_) => {
                    end = Err(Self::stream_failure(StreamError::Idle(self.idle_timeout)));
                    break;
                }
                Ok(None) => break,
                Ok(Some(Err(error))) => {
                    end = Err(Self::stream_failure(StreamError::Transport(with_causes(
                        &error.without_url(),
                    ))));
                    break;
                }
                Ok(Some(Ok(chunk))) => {
                    let room = limit - bytes.len();
                    bytes.extend_from_slice(&chunk[..chunk.len().min(room)]);
                    if chunk.len() > room {
                        end = Err(Failure::new(
                            ModelErrorKind::Protocol,
                            format!("the body is larger than {} KiB", limit / 1024),
                        ));
                        break;
                    }
                }
            }
        }
        // Before anything is shortened: half a key is still part of one.
        let text = self.without_key(String::from_utf8_lossy(&bytes).into_owned());
        (text, end)
    }
}

/// A header value marked sensitive, so that nothing prints it.
pub fn secret_header(value: &str, field: &'static str) -> Result<HeaderValue, EndpointProblem> {
    let mut header = HeaderValue::from_str(value).map_err(|_| EndpointProblem::Header(field))?;
    header.set_sensitive(true);
    Ok(header)
}

pub fn plain_header(value: &str, field: &'static str) -> Result<HeaderValue, EndpointProblem> {
    HeaderValue::from_str(value).map_err(|_| EndpointProblem::Header(field))
}

/// The provider's words in the body of a failed request, JSON or not.
fn described_error(body: &str) -> ProviderError {
    let trimmed = body.trim();
    // Some servers send the error of a streaming request as one SSE event under the error status.
    let json = trimmed
        .strip_prefix("data:")
        .map_or(trimmed, |rest| rest.lines().next().unwrap_or_default());
    surrogates::parse(json)
        .ok()
        .and_then(|value| failure::provider_error(&value, true))
        .map_or_else(
            || ProviderError {
                message: trimmed.to_owned(),
                ..ProviderError::default()
            },
            |mut error| {
                surrogates::join(&mut error.message);
                error
            },
        )
}
