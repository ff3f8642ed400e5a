//! HTTP to a platform: one request, and exactly what is known about how it ended.
//!
//! No error, log line or `Debug` output made here holds a secret or an address. Nothing here retries, and no redirect
//! is followed: it would hand a token to somebody else.

use std::time::Duration;

use reqwest::header::{HeaderMap, RETRY_AFTER};
use reqwest::{Method, RequestBuilder};
use serde_json::Value;

use crate::config::secret::Secret;
use crate::text::untrusted::reveal_line;

/// An answer longer than this is not read on: no real one comes near.
const MAX_ANSWER_BYTES: usize = 16 * 1024 * 1024;
/// Longest text of an error, in characters.
const MAX_DETAIL: usize = 300;
/// The part of a token that is looked for in texts, when it is at least this long.
const MIN_SECRET: usize = 8;
/// How long sent bytes may go unreceived before their connection ends, whether or not somebody waits for it.
pub const UNRECEIVED: Duration = Duration::from_secs(15);
/// Shortest and longest rest that a platform can ask for.
const REST: (Duration, Duration) = (Duration::from_secs(1), Duration::from_hours(24));

/// How a call that did not succeed ended.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// No byte of the request reached the platform (name not resolved, refused, no TLS, connect timeout).
    #[error("the platform could not be reached: {detail}")]
    NotSent {
        /// Why.
        detail: String,
    },
    /// The request may have arrived; no (whole) answer came.
    #[error("no answer from the platform: {detail}")]
    Lost {
        /// Why.
        detail: String,
    },
    /// The platform's side failed (5xx); the call may have been carried out.
    #[error("the platform answered with HTTP {status}: {detail}")]
    Server {
        /// HTTP status.
        status: u16,
        /// Its description.
        detail: String,
    },
    /// Too many calls (429); not carried out.
    #[error("the platform asks to wait {} s", retry_after.as_secs())]
    Limited {
        /// How long.
        retry_after: Duration,
        /// Whether the whole account rests, and not one destination.
        everything: bool,
    },
    /// Refused (other 4xx, or a refusal in an answer); not carried out.
    #[error("the platform refused ({}): {detail}", if name.is_empty() { code.to_string() } else { name.clone() })]
    Refused {
        /// The platform's number, or the HTTP status where it has none.
        code: u16,
        /// The platform's word, for example `M_FORBIDDEN`; empty where it has none.
        name: String,
        /// Its description, control characters made visible.
        detail: String,
        /// The destination lives on under this id.
        moved_to: Option<String>,
    },
}

impl CallError {
    /// A call that may have been carried out, and why nobody knows.
    pub fn lost(detail: impl Into<String>) -> Self {
        Self::Lost {
            detail: detail.into(),
        }
    }

    /// A file has more than this many bytes.
    pub fn too_large(max_bytes: u64) -> Self {
        Self::refused(
            413,
            format!("it has more than {} MiB", max_bytes / (1024 * 1024)),
        )
    }

    /// A refusal of ours in the platform's name: a number and what is wrong.
    pub fn refused(code: u16, detail: impl Into<String>) -> Self {
        Self::Refused {
            code,
            name: String::new(),
            detail: detail.into(),
            moved_to: None,
        }
    }

    /// How long the platform asks to wait; none where it does not ask.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Limited { retry_after, .. } => Some(*retry_after),
            Self::NotSent { .. }
            | Self::Lost { .. }
            | Self::Server { .. }
            | Self::Refused { .. } => None,
        }
    }

    /// The same of a call that shows nothing: it may be made again, whatever came of it.
    #[must_use]
    pub fn of_hidden_call(self) -> Self {
        match self {
            Self::Lost { detail } | Self::Server { detail, .. } => Self::NotSent { detail },
            Self::NotSent { .. } | Self::Limited { .. } | Self::Refused { .. } => self,
        }
    }
}

/// How long things may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HttpTimes {
    /// To connect.
    pub connect: Duration,
    /// A whole request, where the caller says nothing else.
    pub request: Duration,
    /// A whole download.
    pub download: Duration,
}

impl Default for HttpTimes {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            request: Duration::from_secs(30),
            download: Duration::from_mins(2),
        }
    }
}

/// A client for one account.
#[derive(Clone)]
pub struct Http {
    client: reqwest::Client,
    base: String,
    secrets: Vec<Secret>,
    request_timeout: Duration,
    download_timeout: Duration,
}

impl std::fmt::Debug for Http {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Http")
            .field("base", &self.base)
            .finish_non_exhaustive()
    }
}

/// An answer of any status.
#[derive(Debug, Clone)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body; null when that is no JSON, or was cut off behind a status that says enough.
    pub body: Value,
}

impl Answer {
    /// How long its `Retry-After` asks to wait, at least a second and at most a day. A date counts as none.
    pub fn retry_after(&self) -> Option<Duration> {
        let seconds: f64 = self
            .headers
            .get(RETRY_AFTER)?
            .to_str()
            .ok()?
            .trim()
            .parse()
            .ok()?;
        rest(seconds)
    }
}

/// A rest in seconds that a platform asks for, at least a second and at most a day; none for what is no time.
pub fn rest(seconds: f64) -> Option<Duration> {
    let (least, most) = REST;
    if !seconds.is_finite() || seconds < 0.0 {
        return None;
    }
    Some(Duration::from_secs_f64(
        seconds.clamp(least.as_secs_f64(), most.as_secs_f64()),
    ))
}

/// Why a body was not read to its end.
enum Cut {
    /// It is longer than it may be.
    TooLong,
    /// The connection ended; why.
    Lost(String),
}

/// What came back.
struct Response {
    status: u16,
    headers: HeaderMap,
    body: Vec<u8>,
    cut: Option<Cut>,
}

impl Http {
    /// A client for `base` (for example `https://api.telegram.org`). Connects to nothing yet. `secrets` are taken out of
    /// every text of an error.
    ///
    /// # Errors
    /// In words, when no TLS client can be made on this machine.
    pub fn new(base: &str, secrets: Vec<Secret>, times: HttpTimes) -> Result<Self, String> {
        // Installed by the program at its start; a second attempt is refused, which is fine.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let base = base.trim_end_matches('/').to_owned();
        let mut builder = reqwest::Client::builder()
            .connect_timeout(times.connect)
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(USER_AGENT)
            // A kept connection that the server closed meanwhile looks like a lost answer, and a lost
            // answer to a send becomes a question to the operator. So idle connections go early.
            .pool_idle_timeout(Duration::from_secs(20))
            .tcp_keepalive(Duration::from_secs(30));
        if is_loopback(&base) {
            builder = builder.no_proxy();
        }
        // What was sent and not received goes on being sent for minutes after we gave up, or died. This ends that, so a
        // look at the platform can say that a send does not arrive any more.
        #[cfg(target_os = "linux")]
        {
            builder = builder.tcp_user_timeout(UNRECEIVED);
        }
        let client = builder
            .build()
            .map_err(|error| describe(&error.without_url()))?;
        Ok(Self {
            client,
            base,
            secrets,
            request_timeout: times.request,
            download_timeout: times.download,
        })
    }

    /// Where it sends to.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// A request to a path below the base; `path` begins with `/`.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.base))
    }

    /// A request to any address: where a platform says that a file is, or goes.
    pub fn request_to(&self, method: Method, url: &str) -> RequestBuilder {
        self.client.request(method, url)
    }

    /// Sends a request. An answer of any status is `Ok`, as long as its status alone, or its whole body, is known.
    ///
    /// # Errors
    /// Only [`CallError::NotSent`] and [`CallError::Lost`].
    pub async fn send(
        &self,
        request: RequestBuilder,
        timeout: Option<Duration>,
    ) -> Result<Answer, CallError> {
        let request = request.timeout(timeout.unwrap_or(self.request_timeout));
        let response = self.exchange(request, MAX_ANSWER_BYTES).await?;
        let body = match response.cut {
            None => serde_json::from_slice(&response.body).unwrap_or(Value::Null),
            Some(_) if response.status >= 400 => Value::Null,
            Some(Cut::Lost(detail)) => return Err(CallError::Lost { detail }),
            Some(Cut::TooLong) => {
                let detail = format!("the answer is longer than {MAX_ANSWER_BYTES} bytes");
                return Err(CallError::lost(detail));
            }
        };
        Ok(Answer {
            status: response.status,
            headers: response.headers,
            body,
        })
    }

    /// Downloads a file; none when it has more bytes than that.
    ///
    /// # Errors
    /// How the call ended; a status other than 200 by what the status says.
    pub async fn download(
        &self,
        request: RequestBuilder,
        max_bytes: u64,
    ) -> Result<Option<Vec<u8>>, CallError> {
        let max = usize::try_from(max_bytes).unwrap_or(usize::MAX);
        // Files come one after the other, so one that never ends would keep all others away.
        let request = request.timeout(self.download_timeout);
        let response = self.exchange(request, max).await?;
        match (response.status, response.cut) {
            (200, None) => Ok(Some(response.body)),
            (200, Some(Cut::TooLong)) => Ok(None),
            (200, Some(Cut::Lost(detail))) => Err(CallError::Lost { detail }),
            (status, _) => {
                let answer = Answer {
                    status,
                    headers: response.headers,
                    body: serde_json::from_slice(&response.body).unwrap_or(Value::Null),
                };
                Err(by_status(&answer, "no description"))
            }
        }
    }

    /// Takes the secrets out of text, makes control characters visible, and cuts it to 300 characters.
    pub fn scrub(&self, text: &str) -> String {
        let mut clean = reveal_line(text).into_owned();
        for secret in &self.secrets {
            let secret = secret.expose();
            if secret.is_empty() {
                continue;
            }
            clean = clean.replace(secret, "<token>");
            // Of a token with a colon the part behind it is the secret one; the number before it is public.
            if let Some((_, rest)) = secret.split_once(':')
                && rest.len() >= MIN_SECRET
            {
                clean = clean.replace(rest, "<token>");
            }
        }
        clean.chars().take(MAX_DETAIL).collect()
    }

    async fn exchange(
        &self,
        request: RequestBuilder,
        max_bytes: usize,
    ) -> Result<Response, CallError> {
        let mut response = match request.send().await {
            Ok(response) => response,
            Err(error) => {
                let never_left = error.is_connect() || error.is_dns() || error.is_builder();
                let detail = self.scrub(&describe(&error.without_url()));
                return Err(if never_left {
                    CallError::NotSent { detail }
                } else {
                    CallError::Lost { detail }
                });
            }
        };
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        let mut body = Vec::new();
        let cut = loop {
            match response.chunk().await {
                Ok(Some(chunk)) => {
                    if body.len() + chunk.len() > max_bytes {
                        break Some(Cut::TooLong);
                    }
                    body.extend_from_slice(&chunk);
                }
                Ok(None) => break None,
                Err(error) => {
                    break Some(Cut::Lost(self.scrub(&describe(&error.without_url()))));
                }
            }
        };
        Ok(Response {
            status,
            headers,
            body,
            cut,
        })
    }
}

/// What we call ourselves.
pub(super) const USER_AGENT: &str = concat!("leverframe/", env!("CARGO_PKG_VERSION"));

/// What a status other than success says by itself. `detail` is in the words of the platform, already scrubbed.
pub fn by_status(answer: &Answer, detail: &str) -> CallError {
    match answer.status {
        500..=599 => CallError::Server {
            status: answer.status,
            detail: detail.to_owned(),
        },
        429 => CallError::Limited {
            // Not obeying at all would be worse than obeying too long: absent means one second.
            retry_after: answer.retry_after().unwrap_or(REST.0),
            everything: false,
        },
        400..=499 => CallError::refused(answer.status, detail),
        status => CallError::lost(format!(
            "HTTP {status} with a body that is no answer of the platform"
        )),
    }
}

/// An error and its causes in one line, shortest useful form.
pub(super) fn describe(error: &reqwest::Error) -> String {
    let text = if error.is_timeout() {
        "timed out".to_owned()
    } else {
        error.to_string()
    };
    with_causes(text, std::error::Error::source(error))
}

/// A text and the causes behind it, in one line.
pub(super) fn with_causes(
    mut text: String,
    mut source: Option<&(dyn std::error::Error + 'static)>,
) -> String {
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    reveal_line(&text).chars().take(MAX_DETAIL).collect()
}

/// Whether an address points at this machine, where no proxy has a place.
pub(super) fn is_loopback(address: &str) -> bool {
    let Ok(url) = reqwest::Url::parse(address) else {
        return false;
    };
    let Some(host) = url.host_str() else {
        return false;
    };
    host == "localhost"
        || host
            .trim_start_matches('[')
            .trim_end_matches(']')
            .parse::<std::net::IpAddr>()
            .is_ok_and(|ip| ip.is_loopback())
}
