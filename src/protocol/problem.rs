//! Errors that a caller can act on, in one form for HTTP, console and command line.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::protocol::approval::Decision;

/// Class of a [`Problem`]; it decides the HTTP status and the exit status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProblemKind {
    /// The request is malformed or out of range. HTTP 400.
    Invalid,
    /// There is no valid credential. HTTP 401.
    Unauthenticated,
    /// The actor may not do this. HTTP 403.
    Forbidden,
    /// There is no such thing. HTTP 404.
    NotFound,
    /// Somebody was faster, or the thing has changed since the caller read it. HTTP 409.
    Conflict,
    /// It has expired. HTTP 410.
    Gone,
    /// Understood, but this thing does not offer it. HTTP 422.
    NotOffered,
    /// Too much at once: queue full, rate limit. HTTP 429.
    TooMany,
    /// An emergency stop or a quarantine blocks it, or the store cannot write. HTTP 503.
    Unavailable,
    /// A fault in Leverframe. HTTP 500.
    Internal,
}

impl ProblemKind {
    /// The HTTP status of this kind.
    pub const fn http_status(self) -> u16 {
        match self {
            Self::Invalid => 400,
            Self::Unauthenticated => 401,
            Self::Forbidden => 403,
            Self::NotFound => 404,
            Self::Conflict => 409,
            Self::Gone => 410,
            Self::NotOffered => 422,
            Self::TooMany => 429,
            Self::Unavailable => 503,
            Self::Internal => 500,
        }
    }
}

/// An error with its cause, what was expected and the next step. `application/problem+json` in
/// HTTP.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error, JsonSchema)]
#[error("{title}: {detail}")]
pub struct Problem {
    /// Class of the error.
    pub kind: ProblemKind,
    /// Short title, the same for all errors of its sort.
    pub title: String,
    /// Details of this error: the id, field or value, and what was expected. Redacted.
    pub detail: String,
    /// The next step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The decision that won, if this decision came too late.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub winner: Option<Box<Decision>>,
}

impl Problem {
    /// A problem without a hint.
    pub fn new(kind: ProblemKind, title: impl Into<String>, detail: impl Into<String>) -> Self {
        Self {
            kind,
            title: title.into(),
            detail: detail.into(),
            hint: None,
            winner: None,
        }
    }

    /// The problem with a next step.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// "No such thing".
    pub fn not_found(what: &str, id: impl std::fmt::Display) -> Self {
        Self::new(
            ProblemKind::NotFound,
            format!("no such {what}"),
            format!("there is no {what} `{id}`"),
        )
    }

    /// "Malformed or out of range".
    pub fn invalid(detail: impl Into<String>) -> Self {
        Self::new(ProblemKind::Invalid, "invalid request", detail)
    }

    /// Somebody was faster, or the thing changed.
    pub fn conflict(title: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(ProblemKind::Conflict, title, detail)
    }

    /// Not possible for this thing.
    pub fn not_offered(title: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(ProblemKind::NotOffered, title, detail)
    }

    /// The actor may not do this.
    pub fn forbidden(title: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(ProblemKind::Forbidden, title, detail)
    }

    /// Not possible now.
    pub fn unavailable(title: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(ProblemKind::Unavailable, title, detail)
    }

    /// A fault in Leverframe.
    pub fn internal(detail: impl Into<String>) -> Self {
        Self::new(ProblemKind::Internal, "internal error", detail)
            .hint("see the log file; `leverframe --help` names it")
    }
}
