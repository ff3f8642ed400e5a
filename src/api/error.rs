//! Every refusal leaves as `application/problem+json` (RFC 9457). No handler writes an error body itself.

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::protocol::approval::Decision;
use crate::protocol::problem::{Problem, ProblemKind};

/// A [`Problem`] on its way out, with the HTTP status it gets.
#[derive(Debug)]
pub struct Refusal {
    status: StatusCode,
    refused: Box<Refused>,
    header: Option<(HeaderName, HeaderValue)>,
}

/// What is refused and why, whatever shape it leaves in.
#[derive(Debug, Clone)]
pub struct Refused {
    /// The problem.
    pub problem: Problem,
    /// The field of the body that is wrong, where one is.
    pub parameter: Option<String>,
    /// A word for this case.
    pub code: Option<&'static str>,
}

impl Refusal {
    /// A refusal whose status is finer than its kind's (405, 408, 413, 415).
    pub fn with_status(status: StatusCode, problem: Problem) -> Self {
        Self {
            status,
            refused: Box::new(Refused {
                problem,
                parameter: None,
                code: None,
            }),
            header: None,
        }
    }

    /// The same, with the field of the body that is wrong.
    pub fn parameter(mut self, name: impl Into<String>) -> Self {
        self.refused.parameter = Some(name.into());
        self
    }

    /// The same, with a word for this case.
    pub fn code(mut self, code: &'static str) -> Self {
        self.refused.code = Some(code);
        self
    }

    /// What it says.
    pub fn refused(&self) -> &Refused {
        &self.refused
    }

    /// The same with one more header.
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.header = Some((name, value));
        self
    }

    /// No valid credential: 401 with the scheme that is expected.
    pub fn unauthenticated(detail: &str) -> Self {
        let problem = Problem::new(ProblemKind::Unauthenticated, "not authenticated", detail).hint(
            "send `Authorization: Bearer TOKEN`; the first start with --listen writes an admin \
             token to the file `token` in the data directory",
        );
        Self::from(problem).header(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))
    }
}

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Self {
        let status = StatusCode::from_u16(problem.kind.http_status())
            .unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Self::with_status(status, problem)
    }
}

/// A refusal (RFC 9457).
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Problem")]
pub(super) struct Document<'a> {
    /// `urn:leverframe:problem:` and the kind.
    r#type: String,
    /// Short title, the same for all errors of its sort.
    title: &'a str,
    /// The HTTP status.
    status: u16,
    /// Details of this error: the id, field or value, and what was expected.
    detail: &'a str,
    /// The next step.
    hint: Option<&'a str>,
    /// Class of the error.
    kind: ProblemKind,
    /// The decision that won, if this decision came too late.
    #[serde(skip_serializing_if = "Option::is_none")]
    winner: Option<&'a Decision>,
}

impl Refused {
    /// As a document (RFC 9457).
    pub fn document(&self, status: StatusCode) -> Value {
        let problem = &self.problem;
        let kind = serde_json::to_value(problem.kind)
            .ok()
            .and_then(|kind| kind.as_str().map(str::to_owned))
            .unwrap_or_default();
        let document = Document {
            r#type: format!("urn:leverframe:problem:{kind}"),
            title: &problem.title,
            status: status.as_u16(),
            detail: &problem.detail,
            hint: problem.hint.as_deref(),
            kind: problem.kind,
            winner: problem.winner.as_deref(),
        };
        serde_json::to_value(&document).unwrap_or_default()
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let document = self.refused.document(self.status);
        let body = serde_json::to_vec(&document).unwrap_or_default();
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/problem+json"),
        );
        if let Some((name, value)) = self.header {
            headers.insert(name, value);
        }
        // Whoever writes another shape at the end finds it here.
        response.extensions_mut().insert(*self.refused);
        response
    }
}

/// A JSON answer.
pub fn json(status: StatusCode, value: &impl Serialize) -> Result<Response, Refusal> {
    let body = serde_json::to_vec(value)
        .map_err(|error| Problem::internal(format!("the answer could not be written: {error}")))?;
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    Ok(response)
}
