//! What a provider's own words about a failure mean for us. Pure.
//!
//! Nothing here retries; it only finds the [`ModelErrorKind`], which decides that elsewhere.

use std::time::Duration;

use serde_json::Value;

use crate::model::request::{ModelErrorKind, TokenCount};

/// Longest excerpt of a provider's text in a message, in characters.
const EXCERPT_CHARS: usize = 300;

/// A failure before it knows which provider it belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub kind: ModelErrorKind,
    /// What happened. Outside text may be in it.
    pub what: String,
    /// Tokens reported before.
    pub usage: Option<TokenCount>,
}

impl Failure {
    /// A failure without token counts.
    pub fn new(kind: ModelErrorKind, what: impl Into<String>) -> Self {
        Self {
            kind,
            what: what.into(),
            usage: None,
        }
    }
}

/// A provider's description of its error, from any of the JSON shapes seen in the field.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProviderError {
    /// Its message: outside text.
    pub message: String,
    /// Its type and code, lower case, separated by a space.
    pub code: String,
    /// An HTTP status it named inside the body.
    pub status: Option<u16>,
    /// How long it asked us to wait (Google's `RetryInfo`).
    pub retry_after: Option<Duration>,
    /// Which limit was reached, where it said so (Google's `QuotaFailure`).
    pub limit: Option<Limit>,
}

/// A limit of requests or tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// One that waiting helps against.
    Rate,
    /// One that lasts: a day's or a month's, or none was granted.
    Quota,
}

/// Longest excerpt of a page that is not the protocol, in characters.
const PAGE_CHARS: usize = 200;

/// At most `EXCERPT_CHARS` characters of `text`, trimmed.
pub fn excerpt(text: &str) -> String {
    cut(text, EXCERPT_CHARS)
}

/// The beginning of something that no model wrote: shorter, because it says nothing.
pub fn page_excerpt(text: &str) -> String {
    cut(text, PAGE_CHARS)
}

fn cut(text: &str, chars: usize) -> String {
    let text = text.trim();
    let mut short: String = text.chars().take(chars).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

/// Reads the error object out of a JSON value; none when the value does not describe an error.
///
/// Shapes: `{"error":{"message","type","code"}}`, `{"type":"error","error":{…}}`, `{"error":"text"}`,
/// Google's `{"error":{"code","status","message","details"}}`, and `{"message"|"detail":"…"}`, the last only when `whole_body_is_error` (a failed status).
pub fn provider_error(value: &Value, whole_body_is_error: bool) -> Option<ProviderError> {
    let body = match value {
        // Gemini's compatible endpoint wraps its error object in a list.
        Value::Array(items) => items.first()?,
        other => other,
    };
    match body.get("error") {
        Some(Value::Object(_)) => Some(from_object(&body["error"])),
        Some(Value::String(message)) => Some(ProviderError {
            message: message.clone(),
            ..from_object(body)
        }),
        Some(Value::Null) | None => {
            let described = body.get("message").or_else(|| body.get("detail"))?;
            (whole_body_is_error || body.get("object").and_then(Value::as_str) == Some("error"))
                .then(|| ProviderError {
                    message: plain(described),
                    ..from_object(body)
                })
        }
        Some(Value::Bool(_) | Value::Number(_) | Value::Array(_)) => {
            Some(from_object(body)).filter(|error| !error.message.is_empty())
        }
    }
}

fn from_object(error: &Value) -> ProviderError {
    let word = |name: &str| error.get(name).map(plain).unwrap_or_default();
    let status = ["status", "code", "status_code"]
        .iter()
        .filter_map(|name| {
            let value = error.get(*name)?;
            value
                .as_u64()
                .or_else(|| value.as_str().and_then(|text| text.parse().ok()))
        })
        .find_map(|number| {
            u16::try_from(number)
                .ok()
                .filter(|n| (400..600).contains(n))
        });
    let details = error.get("details").and_then(Value::as_array);
    let details = details.map(Vec::as_slice).unwrap_or_default();
    let mut words = vec![word("type"), word("code")];
    // Google's names: the numeric code says less than its status, and that less than the reason.
    words.extend(
        error
            .get("status")
            .and_then(Value::as_str)
            .map(str::to_owned),
    );
    words.extend(of_type(details, "ErrorInfo").filter_map(|info| Some(plain(info.get("reason")?))));
    words.retain(|word| !word.is_empty());
    let message = word("message");
    let retry_after = of_type(details, "RetryInfo").find_map(|info| {
        let seconds = info.get("retryDelay")?.as_str()?.strip_suffix('s')?;
        Duration::try_from_secs_f64(seconds.parse().ok()?).ok()
    });
    ProviderError {
        limit: limit(details, &message, retry_after.is_some()),
        code: words.join(" ").to_lowercase(),
        message,
        status,
        retry_after,
    }
}

/// The details of one of Google's types.
fn of_type<'a>(details: &'a [Value], name: &'static str) -> impl Iterator<Item = &'a Value> {
    details.iter().filter(move |detail| {
        let full = detail.get("@type").and_then(Value::as_str);
        full.is_some_and(|full| full.ends_with(name))
    })
}

/// The same words (`RESOURCE_EXHAUSTED`, "check your plan and billing details") stand for a minute's limit and for a
/// day's; only the name of the quota tells them apart. A wait is named for both.
fn limit(details: &[Value], message: &str, wait_is_named: bool) -> Option<Limit> {
    let quotas: String = of_type(details, "QuotaFailure")
        .filter_map(|failure| failure.get("violations")?.as_array())
        .flatten()
        .filter_map(|violation| violation.get("quotaId")?.as_str())
        .collect();
    let none_granted = message.contains("limit: 0,") || message.contains("limit: 0\n");
    if none_granted
        || ["PerDay", "PerMonth"]
            .iter()
            .any(|lasting| quotas.contains(lasting))
    {
        Some(Limit::Quota)
    } else if wait_is_named || quotas.contains("PerMinute") {
        Some(Limit::Rate)
    } else {
        None
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            other.to_string()
        }
    }
}

const CONTEXT_WORDS: &[&str] = &[
    "context_length_exceeded",
    "context length",
    "context window",
    "context size",
    "maximum context",
    "prompt is too long",
    "prompt too long",
    "input is too long",
    "too many input tokens",
    "exceeds the maximum number of tokens",
    "request_too_large",
];
const SPEND_WORDS: &[&str] = &[
    "insufficient_quota",
    "billing",
    "credit balance",
    "insufficient credit",
    "insufficient balance",
    "spend limit",
    "spending limit",
    "spend_limit",
    "usage limit",
    "hard limit",
    "exceeded your current quota",
];

const KEY_WORDS: &[&str] = &["api key not valid", "api_key_invalid", "api key expired"];
/// Words that say that a parameter is not taken at all.
const REFUSING_WORDS: &[&str] = &[
    "unsupported",
    "not supported",
    "does not support",
    "unknown",
    "unrecognized",
    "unexpected",
    "not permitted",
    "extra",
    "invalid parameter",
    "not allowed",
];

/// Whether the words of a 400, lower case, say that some parameter is not taken at all.
pub fn refuses_parameter(words: &str) -> bool {
    names_any(words, REFUSING_WORDS)
}

fn names_any(text: &str, words: &[&str]) -> bool {
    words.iter().any(|word| text.contains(word))
}

/// The class of an HTTP error status with the provider's words beside it.
///
/// `should_retry` is the provider's `x-should-retry`, which overrules the status (the order of both
/// official SDKs).
pub fn classify_status(
    status: u16,
    error: &ProviderError,
    should_retry: Option<bool>,
) -> ModelErrorKind {
    let words = format!("{} {}", error.code, error.message.to_lowercase());
    let kind = match status {
        402 => ModelErrorKind::QuotaExceeded,
        413 => ModelErrorKind::ContextTooLong,
        429 if error.limit == Some(Limit::Rate) => ModelErrorKind::RateLimited,
        429 if error.limit == Some(Limit::Quota) => ModelErrorKind::QuotaExceeded,
        // Google answers a wrong key with 400.
        400 if names_any(&words, KEY_WORDS) => ModelErrorKind::Authentication,
        400 | 403 | 422 | 429 if names_any(&words, SPEND_WORDS) => ModelErrorKind::QuotaExceeded,
        401 | 403 => ModelErrorKind::Authentication,
        404 | 405 | 410 => ModelErrorKind::NotFound,
        400 | 422 if names_any(&words, CONTEXT_WORDS) => ModelErrorKind::ContextTooLong,
        429 => ModelErrorKind::RateLimited,
        408 | 409 | 500..=599 => ModelErrorKind::Overloaded,
        300..=399 => ModelErrorKind::NotFound,
        _ => ModelErrorKind::InvalidRequest,
    };
    match (should_retry, kind) {
        (Some(false), ModelErrorKind::Overloaded) => ModelErrorKind::InvalidRequest,
        (Some(false), ModelErrorKind::RateLimited) => ModelErrorKind::QuotaExceeded,
        (Some(true), ModelErrorKind::InvalidRequest) => ModelErrorKind::Overloaded,
        (_, kind) => kind,
    }
}

/// The class of an error object that came under HTTP 200, in a body or in the middle of a stream.
pub fn classify_in_band(error: &ProviderError) -> ModelErrorKind {
    if let Some(status) = error.status {
        return classify_status(status, error, None);
    }
    let words = format!("{} {}", error.code, error.message.to_lowercase());
    let has = |list: &[&str]| names_any(&words, list);
    if has(SPEND_WORDS) {
        ModelErrorKind::QuotaExceeded
    } else if has(CONTEXT_WORDS) {
        ModelErrorKind::ContextTooLong
    } else if has(&["rate_limit", "rate limit", "too many requests"]) {
        ModelErrorKind::RateLimited
    } else if has(&[
        "overloaded",
        "api_error",
        "server_error",
        "timeout",
        "unavailable",
    ]) {
        ModelErrorKind::Overloaded
    } else if has(&["authentication", "permission", "invalid_api_key", "api key"]) {
        ModelErrorKind::Authentication
    } else if has(&["not_found", "model_not_found"]) {
        ModelErrorKind::NotFound
    } else if has(&["invalid_request", "invalid_prompt"]) {
        ModelErrorKind::InvalidRequest
    } else {
        // The server took the request and failed at it: the class that a 500 would have.
        ModelErrorKind::Overloaded
    }
}

/// What a person can do about a failure of this class.
pub fn next_step(kind: ModelErrorKind) -> &'static str {
    match kind {
        ModelErrorKind::Authentication => {
            "check the key of this provider (api_key_env, api_key_file or api_key_command): it is missing, \
             wrong, expired, or not allowed this model"
        }
        ModelErrorKind::NotFound => "check base_url and the model name of this provider",
        ModelErrorKind::InvalidRequest => {
            "the same request would be refused again; check the model name and its limits"
        }
        ModelErrorKind::ContextTooLong => {
            "start a new session, or lower engine.history_exchanges or the provider's context_window"
        }
        ModelErrorKind::QuotaExceeded => "raise the limit or add credit at the provider",
        ModelErrorKind::RateLimited => "wait, or lower max_concurrent of this provider",
        ModelErrorKind::Overloaded => "try again later",
        ModelErrorKind::Unreachable => "check base_url, the network, and that the server runs",
        ModelErrorKind::Timeout => {
            "check that the server answers, or raise the provider's timeouts"
        }
        ModelErrorKind::Disconnected => "the answer is incomplete; try again",
        ModelErrorKind::Protocol => "check that base_url points at an API of this kind",
        ModelErrorKind::Cancelled => "it was stopped on purpose",
        ModelErrorKind::Unusable => "try again, or choose another model",
    }
}
