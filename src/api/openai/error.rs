//! Refusals as clients of OpenAI's interface read them. A refusal becomes one on its way out, whoever wrote it.

use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use crate::api::error::Refused;
use crate::protocol::problem::ProblemKind;

/// How the paths begin that such clients alone use.
const OWN_PATHS: [&str; 2] = ["/v1/chat/completions", "/v1/responses"];
/// The path that they share with programs of ours.
pub const MODELS_PATH: &str = "/v1/models";
/// Seconds to wait before another try, where nobody said how long.
const RETRY_SECONDS: u64 = 5;

/// What a refusal looks like at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorShape {
    /// A problem (RFC 9457).
    Problem,
    /// A problem with the field `error` in it, which OpenAI's clients read.
    Both,
    /// As OpenAI writes it.
    OpenAi,
}

/// The shape of refusals at a path.
pub fn shape_at(path: &str) -> ErrorShape {
    let is_own = |own: &str| {
        path.strip_prefix(own)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    if OWN_PATHS.iter().any(|own| is_own(own)) {
        ErrorShape::OpenAi
    } else if path == MODELS_PATH {
        ErrorShape::Both
    } else {
        ErrorShape::Problem
    }
}

/// An error in OpenAI's form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "OpenAiError")]
pub struct ErrorDocument {
    /// The error.
    error: ErrorDetails,
}

/// Details of an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "OpenAiErrorDetails")]
pub struct ErrorDetails {
    /// What happened, and the next step.
    pub message: String,
    /// Class of the error.
    pub r#type: &'static str,
    /// The invalid parameter.
    pub param: Option<String>,
    /// Code of the error.
    pub code: Option<String>,
}

/// The class of a refusal in OpenAI's words.
pub fn type_of(kind: ProblemKind) -> &'static str {
    match kind {
        ProblemKind::Invalid
        | ProblemKind::NotFound
        | ProblemKind::Conflict
        | ProblemKind::Gone
        | ProblemKind::NotOffered => "invalid_request_error",
        ProblemKind::Unauthenticated => "authentication_error",
        ProblemKind::Forbidden => "permission_error",
        ProblemKind::TooMany => "rate_limit_error",
        ProblemKind::Unavailable | ProblemKind::Internal => "server_error",
    }
}

fn code_of(kind: ProblemKind) -> Option<&'static str> {
    match kind {
        ProblemKind::Unauthenticated => Some("invalid_api_key"),
        ProblemKind::TooMany => Some("rate_limit_exceeded"),
        ProblemKind::Invalid
        | ProblemKind::NotFound
        | ProblemKind::Conflict
        | ProblemKind::Gone
        | ProblemKind::NotOffered
        | ProblemKind::Forbidden
        | ProblemKind::Unavailable
        | ProblemKind::Internal => None,
    }
}

impl ErrorDetails {
    /// Of a refusal.
    pub fn of(refused: &Refused) -> Self {
        let problem = &refused.problem;
        let mut message = problem.detail.clone();
        if let Some(hint) = &problem.hint {
            message.push_str(". Next step: ");
            message.push_str(hint);
        }
        Self {
            message,
            r#type: type_of(problem.kind),
            param: refused.parameter.clone(),
            code: refused
                .code
                .or_else(|| code_of(problem.kind))
                .map(str::to_owned),
        }
    }
}

/// The answer in the shape of its path.
pub fn shaped(path: &str, mut response: Response) -> Response {
    let Some(refused) = response.extensions_mut().remove::<Refused>() else {
        return response;
    };
    let details = ErrorDetails::of(&refused);
    let (kind, body) = match shape_at(path) {
        ErrorShape::Problem => return response,
        ErrorShape::OpenAi => (
            "application/json",
            serde_json::to_vec(&ErrorDocument { error: details }),
        ),
        ErrorShape::Both => {
            let mut document = refused.document(response.status());
            document["error"] = json!(details);
            ("application/problem+json", serde_json::to_vec(&document))
        }
    };
    *response.body_mut() = Body::from(body.unwrap_or_default());
    let headers = response.headers_mut();
    headers.remove(header::CONTENT_LENGTH);
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    if refused.problem.kind == ProblemKind::TooMany && !headers.contains_key(header::RETRY_AFTER) {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(RETRY_SECONDS));
    }
    response
}
