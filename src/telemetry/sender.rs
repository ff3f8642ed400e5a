//! One request to a collector: OTLP over HTTP, in protocol buffers. No message of it holds a header.

use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::{Client, Response, Url};

use crate::config::telemetry::TelemetrySettings;
use crate::model::http::{client_for, with_causes};
use crate::protocol::telemetry::Signal;
use crate::telemetry::payload;

/// Longest time of a request.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Bytes of an answer that are read.
const MAX_ANSWER_BYTES: usize = 64 * 1024;
/// Longest time that a collector may ask to wait.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Why a collector did not take something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// It may take it later; after this time, where it says so.
    Later {
        /// In words.
        why: String,
        /// How long it asks to wait.
        after: Option<Duration>,
    },
    /// It never takes this.
    Never(String),
}

/// A collector.
pub struct Sender {
    client: Client,
    traces: Url,
    logs: Url,
    headers: HeaderMap,
}

impl Sender {
    /// The collector of the settings. Connects to nothing yet.
    ///
    /// # Errors
    /// In words, what stands in the way.
    pub fn new(settings: &TelemetrySettings) -> Result<Self, String> {
        let below = |path: &str| {
            let url = format!("{}/v1/{path}", settings.endpoint);
            Url::parse(&url).map_err(|error| format!("the address of the collector: {error}"))
        };
        let traces = below("traces")?;
        let mut headers = HeaderMap::new();
        for (name, value) in &settings.headers {
            let wrong = || format!("the header `{name}` cannot be sent");
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
            let mut value = HeaderValue::from_str(value.expose()).map_err(|_| wrong())?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        let body = HeaderValue::from_static("application/x-protobuf");
        headers.insert(CONTENT_TYPE, body);
        Ok(Self {
            client: client_for(&traces, TIMEOUT)?,
            traces,
            logs: below("logs")?,
            headers,
        })
    }

    /// Sends a body; how many things of it the collector refused.
    pub async fn send(&self, signal: Signal, body: Vec<u8>) -> Result<u64, Refusal> {
        let url = match signal {
            Signal::Spans => &self.traces,
            Signal::Logs => &self.logs,
        };
        let request = self
            .client
            .post(url.clone())
            .timeout(TIMEOUT)
            .headers(self.headers.clone())
            .body(body);
        let answer = request.send().await.map_err(|error| Refusal::Later {
            why: with_causes(&error.without_url()),
            after: None,
        })?;
        let status = answer.status();
        if status.is_success() {
            return Ok(payload::rejected(signal, &read(answer).await));
        }
        let why = format!("the collector answers with HTTP {status}");
        Err(match status.as_u16() {
            429 | 502 | 503 | 504 => Refusal::Later {
                why,
                after: wait(answer.headers()),
            },
            _ => Refusal::Never(why),
        })
    }
}

/// The seconds of `Retry-After`. A date counts as none.
fn wait(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?;
    let seconds = text.trim().parse().ok()?;
    Some(Duration::from_secs(seconds).min(LONGEST_WAIT))
}

/// The answer as far as it came; nothing of one that is too long.
async fn read(mut answer: Response) -> Vec<u8> {
    let mut bytes = Vec::new();
    while let Ok(Some(chunk)) = answer.chunk().await {
        if bytes.len() + chunk.len() > MAX_ANSWER_BYTES {
            return Vec::new();
        }
        bytes.extend_from_slice(&chunk);
    }
    bytes
}
