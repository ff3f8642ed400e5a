//! The REST interface: one call, and exactly what is known about how it ended.
//!
//! No call leaves before its slot, and nothing here makes one twice.

use std::sync::Arc;
use std::time::{Duration, Instant};

use reqwest::Method;
use reqwest::header::{AUTHORIZATION, HeaderMap, USER_AGENT};
use reqwest::multipart::{Form, Part};
use serde_json::Value;

use crate::channels::discord::limits::{Limits, Quota};
use crate::channels::http::{Answer, CallError, Http, HttpTimes};
use crate::config::settings::Secret;
use crate::protocol::artifact::SentFile;

/// Longest wait for a slot before the caller is told to come again.
const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// Longest upload.
const UPLOAD_TIMEOUT: Duration = Duration::from_mins(2);
/// How long to stay away when the network before Discord refuses us and does not say how long.
pub const CLOUDFLARE_REST: Duration = Duration::from_mins(1);

/// A call.
#[derive(Debug, Clone)]
pub struct Route {
    method: Method,
    path: String,
    /// What Discord counts it by: method and path without ids.
    kind: &'static str,
    /// The channel or guild it is about.
    major: String,
}

impl Route {
    /// A call that is about no channel and no guild.
    pub fn new(method: Method, path: impl Into<String>, kind: &'static str) -> Self {
        Self {
            method,
            path: path.into(),
            kind,
            major: String::new(),
        }
    }

    /// A call about a channel or guild.
    pub fn about(self, major: impl ToString) -> Self {
        Self {
            major: major.to_string(),
            ..self
        }
    }

    /// A new message in a channel.
    pub fn send(channel: &str) -> Self {
        let path = format!("/channels/{channel}/messages");
        Self::new(Method::POST, path, "POST messages").about(channel)
    }

    /// Something done to a message.
    pub fn message(method: Method, channel: &str, message: &str) -> Self {
        let kind = match method {
            Method::PATCH => "PATCH message",
            Method::DELETE => "DELETE message",
            _ => "GET message",
        };
        let path = format!("/channels/{channel}/messages/{message}");
        Self::new(method, path, kind).about(channel)
    }
}

/// A client for one bot.
#[derive(Clone)]
pub struct Api {
    http: Http,
    token: Secret,
    limits: Arc<Limits>,
}

impl Api {
    /// A client for `base` (for example `https://discord.com/api/v10`). Connects to nothing yet. `limits` outlive it.
    ///
    /// # Errors
    /// In words, when no TLS client can be made on this machine.
    pub fn new(
        base: &str,
        token: Secret,
        limits: Arc<Limits>,
        times: HttpTimes,
    ) -> Result<Self, String> {
        Ok(Self {
            http: Http::new(base, vec![token.clone()], times)?,
            token,
            limits,
        })
    }

    /// The HTTP core under it.
    pub fn http(&self) -> &Http {
        &self.http
    }

    /// The token, for the gateway.
    pub fn token(&self) -> &Secret {
        &self.token
    }

    /// Whether a call may leave now; else how long to wait.
    pub fn may(&self, route: &Route) -> Result<(), Duration> {
        self.limits.may(route.kind, &route.major, Instant::now())
    }

    /// Makes a call without a body.
    pub async fn get(&self, route: &Route) -> Result<Value, CallError> {
        self.exchange(route, Ok, None).await
    }

    /// Makes a call with a JSON body.
    pub async fn call(&self, route: &Route, body: &Value) -> Result<Value, CallError> {
        self.exchange(route, |request| Ok(request.json(body)), None)
            .await
    }

    /// Makes a call with a JSON body and a file.
    pub async fn upload(
        &self,
        route: &Route,
        body: &Value,
        file: &SentFile,
        content: Vec<u8>,
    ) -> Result<Value, CallError> {
        let form = |request: reqwest::RequestBuilder| {
            let part = Part::bytes(content)
                .file_name(file.name.clone())
                .mime_str(&file.artifact.media_type)
                .map_err(|error| CallError::NotSent {
                    detail: error.to_string(),
                })?;
            let form = Form::new()
                .text("payload_json", body.to_string())
                .part("files[0]", part);
            Ok(request.multipart(form))
        };
        self.exchange(route, form, Some(UPLOAD_TIMEOUT)).await
    }

    async fn exchange(
        &self,
        route: &Route,
        with_body: impl FnOnce(reqwest::RequestBuilder) -> Result<reqwest::RequestBuilder, CallError>,
        timeout: Option<Duration>,
    ) -> Result<Value, CallError> {
        while let Err(wait) = self.limits.take(route.kind, &route.major, Instant::now()) {
            if wait > LONGEST_WAIT {
                return Err(CallError::Limited {
                    retry_after: wait,
                    everything: false,
                });
            }
            tokio::time::sleep(wait).await;
        }
        let request = self
            .http
            .request(route.method.clone(), &route.path)
            .header(AUTHORIZATION, format!("Bot {}", self.token.expose()))
            .header(
                USER_AGENT,
                concat!("DiscordBot (leverframe, ", env!("CARGO_PKG_VERSION"), ")"),
            );
        let answer = self.http.send(with_body(request)?, timeout).await?;
        self.judge(route, answer)
    }

    /// What an answer says, and what the limits learn from it.
    pub fn judge(&self, route: &Route, answer: Answer) -> Result<Value, CallError> {
        let now = Instant::now();
        if let Some(quota) = quota(&answer.headers) {
            self.limits.note(route.kind, &route.major, &quota, now);
        }
        let shared = header(&answer.headers, "x-ratelimit-scope") == Some("shared");
        if matches!(answer.status, 401 | 403 | 429) && !shared {
            self.limits.refused(now);
        }
        match answer.status {
            200..=299 => Ok(answer.body),
            429 => {
                // Only Discord itself answers in JSON; the network before it speaks for everything we send.
                let is_own = answer.body.is_object();
                let everything = !is_own
                    || answer.body["global"].as_bool() == Some(true)
                    || header(&answer.headers, "x-ratelimit-global") == Some("true");
                let said = answer.body["retry_after"]
                    .as_f64()
                    .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
                let rest = said
                    .into_iter()
                    .chain(answer.retry_after())
                    .max()
                    .unwrap_or(if is_own {
                        Duration::from_secs(1)
                    } else {
                        CLOUDFLARE_REST
                    })
                    .clamp(Duration::from_millis(50), Duration::from_hours(24));
                self.limits
                    .limited(route.kind, &route.major, rest, everything, now);
                Err(CallError::Limited {
                    retry_after: rest,
                    everything,
                })
            }
            status @ 500..=599 => Err(CallError::Server {
                status,
                detail: self.words(&answer.body),
            }),
            status => Err(CallError::Refused {
                code: status,
                name: answer.body["code"]
                    .as_u64()
                    .filter(|code| *code > 0)
                    .map(|code| code.to_string())
                    .unwrap_or_default(),
                detail: self.words(&answer.body),
                moved_to: None,
            }),
        }
    }

    /// What a refusal says, with the field that it is about.
    fn words(&self, body: &Value) -> String {
        let said = body["message"].as_str();
        let of_field = body.get("errors").and_then(|errors| field(errors, ""));
        match (said, of_field) {
            (Some(said), Some(of_field)) => self.http.scrub(&format!("{said} ({of_field})")),
            (Some(said), None) => self.http.scrub(said),
            (None, _) => "no description".to_owned(),
        }
    }
}

/// The first complaint about a field: `content: Must be 2000 or fewer in length.`
fn field(errors: &Value, path: &str) -> Option<String> {
    let fields = errors.as_object()?;
    if let Some(said) = fields
        .get("_errors")
        .and_then(|said| said.pointer("/0/message"))
        .and_then(Value::as_str)
    {
        return Some(format!("{path}: {said}"));
    }
    // Deeper ones do not exist, and no answer may make us dig for ever.
    if path.matches('.').count() > 6 {
        return None;
    }
    fields.iter().find_map(|(name, inner)| {
        let path = if path.is_empty() {
            name.clone()
        } else {
            format!("{path}.{name}")
        };
        field(inner, &path)
    })
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

fn quota(headers: &HeaderMap) -> Option<Quota> {
    let seconds: f64 = header(headers, "x-ratelimit-reset-after")?.parse().ok()?;
    Some(Quota {
        bucket: header(headers, "x-ratelimit-bucket")?.to_owned(),
        remaining: header(headers, "x-ratelimit-remaining")?.parse().ok()?,
        reset_after: Duration::try_from_secs_f64(seconds)
            .ok()?
            .min(Duration::from_hours(1)),
    })
}
