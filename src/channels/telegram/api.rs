//! The Bot API over HTTP: one call, and exactly what is known about how it ended.
//!
//! The token is in the path of every request and in nothing else: no error, log line or `Debug` output
//! made here contains it. Nothing here retries.

use std::time::Duration;

use reqwest::multipart::{Form, Part};
use reqwest::{Method, RequestBuilder};
use serde_json::Value;

use crate::channels::http::{Answer, CallError, Http, HttpTimes, by_status, rest};
use crate::config::settings::Secret;
use crate::protocol::artifact::SentFile;

/// Longest upload.
const UPLOAD_TIMEOUT: Duration = Duration::from_mins(2);

/// A client for one bot.
#[derive(Debug, Clone)]
pub struct Api {
    http: Http,
    token: Secret,
}

impl Api {
    /// A client for `base` (for example `https://api.telegram.org`). Connects to nothing yet.
    ///
    /// # Errors
    /// In words, when no TLS client can be made on this machine.
    pub fn new(base: &str, token: Secret, times: HttpTimes) -> Result<Self, String> {
        let http = Http::new(base, vec![token.clone()], times)?;
        Ok(Self { http, token })
    }

    /// Text of Telegram, fit to be shown.
    pub fn scrub(&self, text: &str) -> String {
        self.http.scrub(text)
    }

    /// Where it sends to, without the token.
    pub fn base(&self) -> &str {
        self.http.base()
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
        self.post(method, |request| request.json(params), None)
            .await
    }

    /// Calls a method that may take `limit` in all.
    pub async fn call_within(
        &self,
        method: &str,
        params: &Value,
        limit: Duration,
    ) -> Result<Value, CallError> {
        self.post(method, |request| request.json(params), Some(limit))
            .await
    }

    /// Calls a method with a file.
    pub async fn upload(
        &self,
        method: &str,
        params: &Value,
        field: &'static str,
        file: &SentFile,
        content: &[u8],
    ) -> Result<Value, CallError> {
        let part = Part::bytes(content.to_vec()).file_name(file.name.clone());
        let part =
            part.mime_str(&file.artifact.media_type)
                .map_err(|error| CallError::NotSent {
                    detail: error.to_string(),
                })?;
        let mut form = Form::new();
        for (name, value) in params.as_object().into_iter().flatten() {
            let text = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            form = form.text(name.clone(), text);
        }
        let form = form.part(field, part);
        self.post(
            method,
            |request| request.multipart(form),
            Some(UPLOAD_TIMEOUT),
        )
        .await
    }

    /// Downloads a file by the path that `getFile` named; none when it has more bytes than that.
    pub async fn download(&self, path: &str, max_bytes: u64) -> Result<Option<Vec<u8>>, CallError> {
        let path = format!("/file/bot{}/{path}", self.token.expose());
        let request = self.http.request(Method::GET, &path);
        self.http.download(request, max_bytes).await
    }

    async fn post(
        &self,
        method: &str,
        with_body: impl FnOnce(RequestBuilder) -> RequestBuilder,
        limit: Option<Duration>,
    ) -> Result<Value, CallError> {
        let path = format!("/bot{}/{method}", self.token.expose());
        let request = with_body(self.http.request(Method::POST, &path));
        self.judge(self.http.send(request, limit).await?)
    }

    /// What an answer says. A status alone decides only what the status alone can decide.
    fn judge(&self, mut answer: Answer) -> Result<Value, CallError> {
        let ok = answer.body["ok"].as_bool();
        if ok == Some(true)
            && (200..300).contains(&answer.status)
            && let Some(result) = answer.body.get_mut("result")
        {
            return Ok(result.take());
        }
        if ok == Some(false) {
            return Err(self.refusal(&answer));
        }
        Err(by_status(&answer, "no description"))
    }

    fn refusal(&self, answer: &Answer) -> CallError {
        let body = &answer.body;
        let code = body["error_code"]
            .as_u64()
            .and_then(|code| u16::try_from(code).ok())
            .unwrap_or(answer.status);
        let description = body["description"].as_str().unwrap_or("no description");
        let detail = self.http.scrub(description);
        let parameter = |name| body.get("parameters").and_then(|given| given.get(name));
        match code {
            429 => CallError::Limited {
                // Not obeying at all would be worse than obeying too long: absent means one second.
                retry_after: parameter("retry_after")
                    .and_then(Value::as_f64)
                    .and_then(rest)
                    .unwrap_or(Duration::from_secs(1)),
                everything: false,
            },
            500..=599 => CallError::Server {
                status: code,
                detail,
            },
            _ => CallError::Refused {
                code,
                name: String::new(),
                detail,
                moved_to: parameter("migrate_to_chat_id")
                    .and_then(Value::as_i64)
                    .map(|chat| chat.to_string()),
            },
        }
    }
}
