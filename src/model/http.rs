//! The HTTP side that all network adapters share: one way to connect, post and report failures.
//!
//! No redirect is followed, no body is read without a bound, and no key, user name, path or query of a
//! URL reaches an error message.

use std::sync::OnceLock;
use std::time::Duration;

use futures_util::StreamExt;
use reqwest::header::{
    ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue,
    RETRY_AFTER,
};
use reqwest::{Client, Response, Url};
use serde_json::Value;

use crate::clock::{Clock, Timestamp};
use crate::config::providers;
use crate::config::settings::{ProviderSettings, Secret};
use crate::model::failure::{self, Failure, ProviderError, excerpt, page_excerpt};
use crate::model::request::{ModelError, ModelErrorKind};
use crate::model::sse::SseError;

/// Most bytes read of the body of a failed request.
const MAX_ERROR_BODY: usize = 16 * 1024;
/// Most bytes read of an answer that came whole although a stream was asked for.
const MAX_WHOLE_BODY: usize = 8 * 1024 * 1024;

/// Why a provider's settings cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EndpointProblem {
    /// The base URL is not one.
    #[error("base_url is not an http or https URL with a host: {0}")]
    BaseUrl(String),
    /// A header value would not be legal.
    #[error("{0} holds characters that cannot stand in an HTTP header (a line break?)")]
    Header(&'static str),
}

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
    lines: bool,
    client: OnceLock<Result<Client, String>>,
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
pub struct Refused {
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
            lines: false,
            client: OnceLock::new(),
        })
    }

    /// Host, with the port where the URL names one.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The same endpoint, whose stream is JSON lines in place of events.
    pub fn answering_in_lines(mut self) -> Self {
        self.lines = true;
        self
    }

    /// Whether its stream is JSON lines.
    pub fn answers_in_lines(&self) -> bool {
        self.lines
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
    pub fn stream_failure(error: SseError) -> Failure {
        let kind = match &error {
            SseError::Transport(_) => ModelErrorKind::Disconnected,
            SseError::Idle(_) => ModelErrorKind::Timeout,
            SseError::Malformed(_) => ModelErrorKind::Protocol,
        };
        Failure::new(kind, format!("the answer broke off: {error}"))
    }

    /// Posts `body` and checks status and content type.
    pub async fn post(&self, body: &Value) -> Result<Answer, Refused> {
        self.post_to(self.url.clone(), body).await
    }

    /// Like [`Endpoint::post`], to an address from [`Endpoint::below`].
    pub async fn post_to(&self, url: Url, body: &Value) -> Result<Answer, Refused> {
        let client = self
            .client
            .get_or_init(|| client_for(&self.url, self.connect_timeout))
            .as_ref()
            .map_err(|why| {
                self.unanswered(ModelErrorKind::Unreachable, format!("no TLS: {why}"))
            })?;
        let sending = client
            .post(url)
            .headers(self.headers.clone())
            // Nothing here decompresses: a stream must come as it is written.
            .header(ACCEPT_ENCODING, "identity")
            .json(body)
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
        let (stream, wanted) = if self.lines {
            ("application/x-ndjson", "JSON lines")
        } else {
            ("text/event-stream", "an event stream")
        };
        if content_type.is_empty() || content_type.starts_with(stream) {
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
        match (serde_json::from_str(&body), complete) {
            (Ok(value), Ok(())) => Ok(Answer::Whole(value)),
            (_, Err(failure)) => Err(self.unanswered(failure.kind, failure.what)),
            (Err(_), Ok(())) => Err(self.unanswered(
                ModelErrorKind::Protocol,
                format!("expected JSON, got: {}", excerpt(&body)),
            )),
        }
    }

    fn unanswered(&self, kind: ModelErrorKind, what: String) -> Refused {
        Refused {
            status: None,
            words: String::new(),
            error: self.error(Failure::new(kind, what)),
        }
    }

    fn not_sent(&self, error: reqwest::Error) -> Refused {
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

    async fn refused(&self, response: Response) -> Refused {
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        if response.status().is_redirection() {
            let target = headers
                .get(reqwest::header::LOCATION)
                .and_then(|value| value.to_str().ok())
                .and_then(|text| self.url.join(text).ok())
                .and_then(|url| url.host_str().map(str::to_owned))
                .unwrap_or_else(|| "an unnamed place".to_owned());
            return Refused {
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
        Refused {
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
                    end = Err(Self::stream_failure(SseError::Idle(self.idle_timeout)));
                    break;
                }
                Ok(None) => break,
                Ok(Some(Err(error))) => {
                    end = Err(Self::stream_failure(SseError::Transport(with_causes(
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

/// A client for one address: no redirects, no proxy on loopback, the system's certificates where TLS is spoken.
pub fn client_for(url: &Url, connect_timeout: Duration) -> Result<Client, String> {
    // reqwest without a built-in provider takes the process-wide one; a second install is refused,
    // which is what we want when somebody else was first.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = Client::builder()
        .connect_timeout(connect_timeout)
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("leverframe/", env!("CARGO_PKG_VERSION")));
    if is_loopback(url) {
        builder = builder.no_proxy();
    }
    if url.scheme() == "http" {
        // No TLS will be spoken, so a machine without certificates must not fail, and the
        // certificates need not be read.
        let no_roots = rustls::ClientConfig::builder()
            .with_root_certificates(rustls::RootCertStore::empty())
            .with_no_client_auth();
        builder = builder.tls_backend_preconfigured(no_roots);
    }
    builder.build().map_err(|error| {
        format!(
            "{}; install the system's CA certificates (package ca-certificates) or set SSL_CERT_FILE",
            with_causes(&error)
        )
    })
}

/// A header value marked sensitive, so that nothing prints it.
pub fn secret_header(value: &str, field: &'static str) -> Result<HeaderValue, EndpointProblem> {
    let mut header = HeaderValue::from_str(value).map_err(|_| EndpointProblem::Header(field))?;
    header.set_sensitive(true);
    Ok(header)
}

/// A plain header value.
pub fn plain_header(value: &str, field: &'static str) -> Result<HeaderValue, EndpointProblem> {
    HeaderValue::from_str(value).map_err(|_| EndpointProblem::Header(field))
}

/// What stood in the way of a connection, in words that tell the cases apart.
fn obstacle(error: &(dyn std::error::Error + 'static)) -> Option<&'static str> {
    if error.is::<rustls::Error>() {
        return Some("the server speaks no TLS there, or its certificate is not trusted here");
    }
    // The connector names this case by word only.
    if error.to_string() == "dns error" {
        return Some("the name of the host cannot be resolved (DNS)");
    }
    let cause = match error.downcast_ref::<std::io::Error>() {
        Some(io) if io.kind() == std::io::ErrorKind::ConnectionRefused => {
            return Some("no server listens there");
        }
        // What an I/O error wraps is not its source, but the source of its source.
        Some(io) => io
            .get_ref()
            .map(|inner| inner as &(dyn std::error::Error + 'static)),
        None => error.source(),
    };
    obstacle(cause?)
}

/// An error with its causes, without repeating what the outer one already says.
pub fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let inner_text = inner.to_string();
        if !text.contains(&inner_text) {
            text.push_str(": ");
            text.push_str(&inner_text);
        }
        cause = inner.source();
    }
    excerpt(&text)
}

/// The host of a base URL, lower case; none where it is not a URL.
pub fn host_of(base_url: &str) -> Option<String> {
    Url::parse(base_url.trim())
        .ok()?
        .host_str()
        .map(str::to_owned)
}

/// Whether a base URL names nothing but a server, so that the usual path is meant.
pub fn has_no_path(base_url: &str) -> bool {
    Url::parse(base_url.trim()).is_ok_and(|url| matches!(url.path(), "" | "/"))
}

fn join(base: &str, path: &str) -> Result<Url, EndpointProblem> {
    let wrong = |why: &str| EndpointProblem::BaseUrl(why.to_owned());
    let mut url = Url::parse(base.trim()).map_err(|error| wrong(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong("its scheme is another"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong("it holds a user name or password; use api_key"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(wrong("it has a query or fragment"));
    }
    let base_path = url.path().trim_end_matches('/');
    // People give both forms; `/v1/v1/messages` is never meant.
    let base_path = match path.strip_prefix("/v1/") {
        Some(_) => base_path.strip_suffix("/v1").unwrap_or(base_path),
        None => base_path,
    };
    let full = if base_path.ends_with(path) {
        base_path.to_owned()
    } else {
        format!("{base_path}{path}")
    };
    url.set_path(&full);
    Ok(url)
}

/// Whether an address is on this machine.
pub fn is_loopback_address(address: &str) -> bool {
    Url::parse(address).is_ok_and(|url| is_loopback(&url))
}

fn is_loopback(url: &Url) -> bool {
    url.host_str().is_some_and(|host| {
        host == "localhost"
            || host
                .trim_matches(['[', ']'])
                .parse::<std::net::IpAddr>()
                .is_ok_and(|address| address.is_loopback())
    })
}

/// The provider's words in the body of a failed request, JSON or not.
fn described_error(body: &str) -> ProviderError {
    let trimmed = body.trim();
    // Some servers send the error of a streaming request as one SSE event under the error status.
    let json = trimmed
        .strip_prefix("data:")
        .map_or(trimmed, |rest| rest.lines().next().unwrap_or_default());
    serde_json::from_str::<Value>(json)
        .ok()
        .and_then(|value| failure::provider_error(&value, true))
        .unwrap_or_else(|| ProviderError {
            message: trimmed.to_owned(),
            ..ProviderError::default()
        })
}

const RETRY_AFTER_MILLIS: HeaderName = HeaderName::from_static("retry-after-ms");

/// What the provider asked us to wait: `retry-after-ms`, or `retry-after` as seconds or as a date.
///
/// A date is compared with the answer's own `Date`, so a wrong clock here does no harm.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let positive = |seconds: f64| Duration::try_from_secs_f64(seconds.max(0.0)).ok();
    if let Some(millis) = text(&RETRY_AFTER_MILLIS).and_then(|text| text.trim().parse::<f64>().ok())
    {
        return positive(millis / 1_000.0);
    }
    let asked = text(&RETRY_AFTER)?.trim();
    if let Ok(seconds) = asked.parse::<f64>() {
        return positive(seconds);
    }
    let until = http_date(asked)?;
    let now = text(&reqwest::header::DATE)
        .and_then(http_date)
        .unwrap_or_else(|| Clock::System.now());
    Some(Duration::from_millis(until.millis_since(now)))
}

fn http_date(text: &str) -> Option<Timestamp> {
    jiff::fmt::rfc2822::parse(text.trim())
        .ok()
        .map(|at| Timestamp(at.timestamp().as_millisecond()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| {
                (
                    HeaderName::from_static(name),
                    HeaderValue::from_str(value).unwrap(),
                )
            })
            .collect()
    }

    #[test]
    fn the_three_forms_of_retry_after() {
        let wait = |pairs: &[(&'static str, &str)]| retry_after(&headers(pairs));
        assert_eq!(wait(&[("retry-after", "2")]), Some(Duration::from_secs(2)));
        assert_eq!(
            wait(&[("retry-after", "9"), ("retry-after-ms", "250")]),
            Some(Duration::from_millis(250))
        );
        assert_eq!(
            wait(&[
                ("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT"),
                ("date", "Sun, 06 Nov 1994 08:49:30 GMT"),
            ]),
            Some(Duration::from_secs(7))
        );
        assert_eq!(
            wait(&[("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")]),
            Some(Duration::ZERO),
            "a date in the past means now"
        );
        assert_eq!(wait(&[("retry-after", "soon")]), None);
        assert_eq!(wait(&[]), None);
    }

    #[test]
    fn base_urls_join_to_one_endpoint() {
        let joined = |base: &str| join(base, "/chat/completions").map(|url| url.to_string());
        for base in [
            "http://127.0.0.1:8080/v1",
            "http://127.0.0.1:8080/v1/",
            "http://127.0.0.1:8080/v1/chat/completions",
        ] {
            assert_eq!(
                joined(base),
                Ok("http://127.0.0.1:8080/v1/chat/completions".to_owned()),
                "{base}"
            );
        }
        assert!(joined("ftp://host").is_err());
        assert!(joined("http://user:secret@host/v1").is_err());
        assert!(joined("host/v1").is_err());
    }
}
