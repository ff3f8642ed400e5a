//! Slack's Web API: one call, and exactly what is known about how it ended.
//!
//! HTTP 200 with `ok: false` is how Slack refuses; its word is the name of the refusal, and what to do about it stands in
//! the detail. A token leaves only in a header, and only to `api_base` and to hosts of Slack. Nothing here retries.

use std::time::Duration;

use reqwest::{Method, Url};
use serde_json::Value;

use crate::channels::http::{Answer, CallError, Http, HttpTimes};
use crate::channels::slack::words::{self, Meaning};
use crate::config::secret::Secret;

/// Longest upload or download.
const TRANSFER_TIMEOUT: Duration = Duration::from_mins(2);
/// How long to wait when Slack says that it is too much and not for how long.
const UNSAID_REST: Duration = Duration::from_secs(30);
/// Hosts of Slack: these and everything below them.
const SLACK_HOSTS: &[&str] = &["slack.com", "slack-gov.com", "slack-files.com"];

/// A client for one app.
#[derive(Clone)]
pub struct Api {
    http: Http,
    bot: Secret,
    app: Secret,
}

impl Api {
    /// A client for `base` (for example `https://slack.com/api`). Connects to nothing yet.
    ///
    /// # Errors
    /// In words, when no TLS client can be made on this machine.
    pub fn new(base: &str, bot: Secret, app: Secret, times: HttpTimes) -> Result<Self, String> {
        let http = Http::new(
            base.trim_end_matches('/'),
            vec![bot.clone(), app.clone()],
            times,
        )?;
        Ok(Self { http, bot, app })
    }

    /// Calls a method with the bot token.
    pub async fn call(&self, method: &str, params: &Value) -> Result<Value, CallError> {
        let request = self.post(method, &self.bot).json(params);
        judge(self.http.send(request, None).await?)
    }

    /// Calls a method that only takes a form: those that read, and those about files.
    pub async fn call_form(
        &self,
        method: &str,
        params: &[(&str, &str)],
    ) -> Result<Value, CallError> {
        self.form(method, params).await.and_then(judge)
    }

    /// Asks who we are: what Slack says, its scopes when it says so, and its time.
    pub async fn whoami(&self) -> Result<(Value, Option<Vec<String>>), CallError> {
        let answer = self.form("auth.test", &[]).await?;
        let scopes = answer
            .headers
            .get("x-oauth-scopes")
            .and_then(|scopes| scopes.to_str().ok())
            .map(|scopes| {
                let scopes = scopes.split(',').map(str::trim);
                scopes
                    .filter(|scope| !scope.is_empty())
                    .map(str::to_owned)
                    .collect()
            });
        judge(answer).map(|said| (said, scopes))
    }

    /// Slack's clock in milliseconds since 1970, from the header of an answer; none when it does not say.
    pub async fn clock(&self) -> Result<Option<i64>, CallError> {
        let answer = self.form("api.test", &[]).await?;
        let date = answer
            .headers
            .get("date")
            .and_then(|date| date.to_str().ok());
        Ok(date.and_then(|date| {
            jiff::fmt::rfc2822::parse(date)
                .ok()
                .map(|at| at.timestamp().as_millisecond())
        }))
    }

    /// Asks with the app token for the address of a socket. It holds a ticket: a secret.
    pub async fn open_connection(&self) -> Result<String, CallError> {
        let request = self.post("apps.connections.open", &self.app);
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        let said = judge(self.http.send(request, None).await?)?;
        said["url"]
            .as_str()
            .map(str::to_owned)
            .ok_or_else(|| CallError::lost("the answer names no address of a socket"))
    }

    /// Puts the content of a file where `files.getUploadURLExternal` said. The token does not go there.
    pub async fn upload(&self, address: &str, content: Vec<u8>) -> Result<(), CallError> {
        self.own_host(address)?;
        let request = self
            .http
            .request_to(Method::POST, address)
            .header("content-type", "application/octet-stream")
            .body(content);
        let answer = self.http.send(request, Some(TRANSFER_TIMEOUT)).await?;
        match answer.status {
            200..=299 => Ok(()),
            _ => judge(answer).map(|_| ()),
        }
    }

    /// The content of a file at this address; none when it has more bytes than that.
    pub async fn download(
        &self,
        address: &str,
        max_bytes: u64,
    ) -> Result<Option<Vec<u8>>, CallError> {
        self.own_host(address)?;
        let request = self
            .http
            .request_to(Method::GET, address)
            .bearer_auth(self.bot.expose());
        self.http.download(request, max_bytes).await
    }

    /// Text without the tokens.
    pub fn scrub(&self, text: &str) -> String {
        self.http.scrub(text)
    }

    fn post(&self, method: &str, token: &Secret) -> reqwest::RequestBuilder {
        self.http
            .request(Method::POST, &format!("/{method}"))
            .bearer_auth(token.expose())
    }

    async fn form(&self, method: &str, params: &[(&str, &str)]) -> Result<Answer, CallError> {
        // The library writes forms only into addresses here; this one is never asked.
        let written = Url::parse_with_params("http://form.invalid/", params).map_err(|error| {
            CallError::NotSent {
                detail: error.to_string(),
            }
        })?;
        let request = self
            .post(method, &self.bot)
            .header("content-type", "application/x-www-form-urlencoded")
            .body(written.query().unwrap_or_default().to_owned());
        self.http.send(request, None).await
    }

    /// Refuses an address that is neither Slack's nor that of the API.
    fn own_host(&self, address: &str) -> Result<(), CallError> {
        if is_own_host(address, self.http.base()) {
            return Ok(());
        }
        Err(CallError::Refused {
            code: 0,
            name: "foreign_host".to_owned(),
            detail: "the file is not at Slack: Leverframe sends no credential there".to_owned(),
            moved_to: None,
        })
    }
}

/// Whether an address belongs to Slack, by TLS, or to the same host as the API.
pub fn is_own_host(address: &str, base: &str) -> bool {
    let (Ok(address), Ok(base)) = (Url::parse(address), Url::parse(base)) else {
        return false;
    };
    if !address.username().is_empty() || address.password().is_some() {
        return false;
    }
    if address.origin() == base.origin() {
        return true;
    }
    let host = address.host_str().unwrap_or_default();
    address.scheme() == "https"
        && address.port().is_none()
        && SLACK_HOSTS.iter().any(|own| {
            host == *own
                || host
                    .strip_suffix(own)
                    .is_some_and(|rest| rest.ends_with('.'))
        })
}

/// What an answer says. A status alone decides only what a status alone can decide.
fn judge(answer: Answer) -> Result<Value, CallError> {
    let status = answer.status;
    let rest = answer.retry_after();
    if status == 429 {
        return Err(CallError::Limited {
            retry_after: rest.unwrap_or(UNSAID_REST),
            everything: false,
        });
    }
    match answer.body["ok"].as_bool() {
        Some(true) if (200..300).contains(&status) => Ok(answer.body),
        Some(false) => Err(refusal(status, rest, &answer.body)),
        _ => Err(match status {
            500..=599 => CallError::Server {
                status,
                detail: "no usable description".to_owned(),
            },
            400..=499 => CallError::refused(status, "no description"),
            _ => CallError::lost(format!(
                "HTTP {status} with a body that is not an answer of Slack"
            )),
        }),
    }
}

fn refusal(status: u16, rest: Option<Duration>, body: &Value) -> CallError {
    let given = body["error"].as_str().unwrap_or("unknown");
    let name: String = given
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || *c == '_')
        .take(80)
        .collect();
    match words::meaning(&name) {
        Meaning::Limited => CallError::Limited {
            retry_after: rest.unwrap_or(UNSAID_REST),
            everything: false,
        },
        Meaning::Failed => CallError::Server {
            status,
            detail: name,
        },
        Meaning::NotDone => CallError::NotSent { detail: name },
        Meaning::Token | Meaning::Refused => CallError::Refused {
            code: status,
            detail: detail(&name, body),
            name,
            moved_to: None,
        },
    }
}

/// What is missing, and what to do.
fn detail(name: &str, body: &Value) -> String {
    let mut parts = Vec::new();
    if let Some(needed) = body["needed"].as_str() {
        let plain = |c: char| c.is_ascii_alphanumeric() || ":._,- ".contains(c);
        let needed: String = needed.chars().filter(|c| plain(*c)).take(120).collect();
        parts.push(format!("it needs {needed}"));
    }
    if let Some(messages) = body["response_metadata"]["messages"].as_array() {
        let said = messages.iter().filter_map(Value::as_str).take(2);
        parts.extend(said.map(|said| {
            let shown = crate::text::untrusted::reveal_line(said);
            shown.chars().take(120).collect()
        }));
    }
    if let Some(fix) = words::fix(name) {
        parts.push(fix.to_owned());
    }
    parts.join("; ")
}
