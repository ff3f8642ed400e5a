//! The Bot API over HTTP: one call, and exactly what is known about how it ended.
//!
//! The token is in the path of every request and in nothing else: no error, log line or `Debug` output
//! made here contains it. Nothing here retries.

use std::time::Duration;

use reqwest::multipart::{Form, Part};
use serde_json::{Map, Value};

use crate::config::settings::Secret;
use crate::protocol::artifact::SentFile;
use crate::text::untrusted::reveal_line;

/// An answer longer than this is not read on: no real one comes near (100 updates of 4 096 characters).
const MAX_ANSWER_BYTES: usize = 16 * 1024 * 1024;

/// Longest upload.
const UPLOAD_TIMEOUT: Duration = Duration::from_mins(2);
/// Longest download.
const DOWNLOAD_TIMEOUT: Duration = Duration::from_mins(2);

/// Why a body was not read to its end.
enum Cut {
    /// It is longer than it may be.
    TooLong,
    /// The connection ended; why.
    Lost(String),
}

/// How a call that did not succeed ended.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// No byte of the request reached Telegram (name not resolved, refused, no TLS, connect timeout).
    #[error("Telegram could not be reached: {detail}")]
    NotSent {
        /// Why.
        detail: String,
    },
    /// The request may have arrived; no (whole) answer came.
    #[error("no answer from Telegram: {detail}")]
    Lost {
        /// Why.
        detail: String,
    },
    /// Telegram's side failed (5xx); the call may have been carried out.
    #[error("Telegram answered with HTTP {status}: {detail}")]
    Server {
        /// HTTP status.
        status: u16,
        /// Its description.
        detail: String,
    },
    /// Too many calls (429); not carried out.
    #[error("Telegram asks to wait {} s", retry_after.as_secs())]
    Limited {
        /// How long.
        retry_after: Duration,
    },
    /// Refused (other 4xx); not carried out.
    #[error("Telegram refused ({code}): {description}")]
    Refused {
        /// `error_code`, or the HTTP status when there was no such body.
        code: u16,
        /// `description`, control characters made visible, at most 300 characters.
        description: String,
        /// The chat lives on under this id.
        migrate_to: Option<i64>,
    },
}

/// A client for one bot.
#[derive(Clone)]
pub struct Api {
    http: reqwest::Client,
    base: String,
    token: Secret,
    request_timeout: Duration,
}

impl std::fmt::Debug for Api {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Api")
            .field("base", &self.base)
            .finish_non_exhaustive()
    }
}

impl Api {
    /// A client for `base` (for example `https://api.telegram.org`). Connects to nothing yet.
    ///
    /// # Errors
    /// In words, when no TLS client can be made on this machine.
    pub fn new(
        base: &str,
        token: Secret,
        connect_timeout: Duration,
        request_timeout: Duration,
    ) -> Result<Self, String> {
        // Installed by the program at its start; a second attempt is refused, which is fine.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let base = base.trim_end_matches('/').to_owned();
        let mut builder = reqwest::Client::builder()
            .connect_timeout(connect_timeout)
            // The token is in the path: following a redirect would hand it to somebody else.
            .redirect(reqwest::redirect::Policy::none())
            // A kept connection that the server closed meanwhile looks like a lost answer, and a lost
            // answer to a send becomes a question to the operator. So idle connections go early.
            .pool_idle_timeout(Duration::from_secs(20))
            .tcp_keepalive(Duration::from_secs(30));
        if is_loopback(&base) {
            builder = builder.no_proxy();
        }
        let http = builder
            .build()
            .map_err(|error| describe(&error.without_url()))?;
        Ok(Self {
            http,
            base,
            token,
            request_timeout,
        })
    }

    /// Where it sends to, without the token.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Confirms updates by a poll that does not wait.
    #[cfg(feature = "test-hooks")]
    pub async fn confirm(&self, updates: &[Value]) {
        let newest = updates
            .iter()
            .filter_map(|update| update["update_id"].as_i64())
            .max();
        if let Some(newest) = newest {
            let params = serde_json::json!({ "offset": newest + 1, "timeout": 0, "limit": 1 });
            let _ = self.call("getUpdates", &params).await;
        }
    }

    /// Calls a method and returns `result`.
    pub async fn call(&self, method: &str, params: &Value) -> Result<Value, CallError> {
        self.call_within(method, params, self.request_timeout).await
    }

    /// Calls a method that may take `limit` in all.
    pub async fn call_within(
        &self,
        method: &str,
        params: &Value,
        limit: Duration,
    ) -> Result<Value, CallError> {
        let url = format!("{}/bot{}/{method}", self.base, self.token.expose());
        let request = self.http.post(url).timeout(limit).json(params);
        let (status, body, cut) = self.exchange(request, MAX_ANSWER_BYTES).await?;
        self.judge(status, &body, cut)
    }

    /// Calls a method with a file.
    pub async fn upload(
        &self,
        method: &str,
        params: &Map<String, Value>,
        field: &'static str,
        file: &SentFile,
        content: &[u8],
    ) -> Result<Value, CallError> {
        let url = format!("{}/bot{}/{method}", self.base, self.token.expose());
        let part = Part::bytes(content.to_vec()).file_name(file.name.clone());
        let part =
            part.mime_str(&file.artifact.media_type)
                .map_err(|error| CallError::NotSent {
                    detail: error.to_string(),
                })?;
        let mut form = Form::new();
        for (name, value) in params {
            let text = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            form = form.text(name.clone(), text);
        }
        let form = form.part(field, part);
        let request = self.http.post(url).timeout(UPLOAD_TIMEOUT).multipart(form);
        let (status, body, cut) = self.exchange(request, MAX_ANSWER_BYTES).await?;
        self.judge(status, &body, cut)
    }

    /// Downloads a file by the path that `getFile` named; none when it has more bytes than that.
    pub async fn download(&self, path: &str, max_bytes: u64) -> Result<Option<Vec<u8>>, CallError> {
        let url = format!("{}/file/bot{}/{path}", self.base, self.token.expose());
        let request = self.http.get(url).timeout(DOWNLOAD_TIMEOUT);
        let max = usize::try_from(max_bytes).unwrap_or(usize::MAX);
        let (status, body, cut) = self.exchange(request, max).await?;
        match (status, cut) {
            (200, None) => Ok(Some(body)),
            (200, Some(Cut::TooLong)) => Ok(None),
            (200, Some(Cut::Lost(detail))) => Err(CallError::Lost { detail }),
            (_, cut) => match self.judge(status, &body, cut) {
                Ok(_) => Err(CallError::Lost {
                    detail: format!("HTTP {status} is no file"),
                }),
                Err(error) => Err(error),
            },
        }
    }

    /// Sends a request: the status, what was read of the body, and why that is not all of it.
    async fn exchange(
        &self,
        request: reqwest::RequestBuilder,
        max_bytes: usize,
    ) -> Result<(u16, Vec<u8>, Option<Cut>), CallError> {
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
        Ok((status, body, cut))
    }

    /// What an answer says. A status alone decides only what the status alone can decide.
    fn judge(&self, status: u16, body: &[u8], cut: Option<Cut>) -> Result<Value, CallError> {
        let parsed = match cut {
            None => serde_json::from_slice::<Value>(body).ok(),
            Some(_) => None,
        };
        if let Some(mut answer) = parsed {
            if answer.get("ok").and_then(Value::as_bool) == Some(true)
                && (200..300).contains(&status)
                && let Some(result) = answer.get_mut("result")
            {
                return Ok(result.take());
            }
            if answer.get("ok").and_then(Value::as_bool) == Some(false) {
                return Err(self.refusal(status, &answer));
            }
        }
        match status {
            500..=599 => Err(CallError::Server {
                status,
                detail: "no usable description".to_owned(),
            }),
            429 => Err(CallError::Limited {
                retry_after: Duration::from_secs(1),
            }),
            400..=499 => Err(CallError::Refused {
                code: status,
                description: "no description".to_owned(),
                migrate_to: None,
            }),
            _ => Err(CallError::Lost {
                detail: match cut {
                    Some(Cut::Lost(detail)) => detail,
                    Some(Cut::TooLong) => {
                        format!("the answer is longer than {MAX_ANSWER_BYTES} bytes")
                    }
                    None => {
                        format!("HTTP {status} with a body that is not an answer of the Bot API")
                    }
                },
            }),
        }
    }

    fn refusal(&self, status: u16, answer: &Value) -> CallError {
        let code = answer
            .get("error_code")
            .and_then(Value::as_u64)
            .and_then(|code| u16::try_from(code).ok())
            .unwrap_or(status);
        let description = answer
            .get("description")
            .and_then(Value::as_str)
            .unwrap_or("no description");
        let description: String = self
            .scrub(&reveal_line(description))
            .chars()
            .take(300)
            .collect();
        let parameters = answer.get("parameters");
        match code {
            429 => CallError::Limited {
                // Not obeying at all would be worse than obeying too long: absent means one second,
                // and nobody is made to wait longer than a day.
                retry_after: Duration::from_secs(
                    parameters
                        .and_then(|given| given.get("retry_after"))
                        .and_then(Value::as_u64)
                        .unwrap_or(1)
                        .clamp(1, 86_400),
                ),
            },
            500..=599 => CallError::Server {
                status: code,
                detail: description,
            },
            _ => CallError::Refused {
                code,
                description,
                migrate_to: parameters
                    .and_then(|given| given.get("migrate_to_chat_id"))
                    .and_then(Value::as_i64),
            },
        }
    }

    /// Takes the token out of text, should anything have put it there.
    fn scrub(&self, text: &str) -> String {
        let token = self.token.expose();
        if token.is_empty() {
            return text.to_owned();
        }
        let mut clean = text.replace(token, "<token>");
        // The part after the colon is the secret one; the number before it is public.
        if let Some((_, secret)) = token.split_once(':')
            && secret.len() >= 8
        {
            clean = clean.replace(secret, "<token>");
        }
        clean
    }
}

/// An error and its causes in one line, shortest useful form.
fn describe(error: &reqwest::Error) -> String {
    let mut text = if error.is_timeout() {
        "timed out".to_owned()
    } else {
        error.to_string()
    };
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    reveal_line(&text).chars().take(300).collect()
}

/// Whether a base URL points at this machine, where no proxy has a place.
fn is_loopback(base: &str) -> bool {
    let Ok(url) = reqwest::Url::parse(base) else {
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
