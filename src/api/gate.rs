//! The gate over HTTP: what a hook of an external agent says, and the answer in that agent's words.

use std::sync::Arc;

use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};

use crate::api::error::Refusal;
use crate::api::request::{Call, read_body};
use crate::api::route::{AnswerShape, Method, Route, content, own};
use crate::api::state::Api;
use crate::api::wait::preferred;
use crate::protocol::enums::{ExternalAgent, Surface};
use crate::protocol::gate::{LONGEST_GATE_WAIT, MAX_HOOK_BYTES};
use crate::protocol::problem::Problem;
use crate::protocol::request::AskGate;
use crate::text::strict_json;

/// What the answer comes to, in one word.
const VERDICT: HeaderName = HeaderName::from_static("leverframe-verdict");
/// Why a call is denied, percent-encoded.
const REASON: HeaderName = HeaderName::from_static("leverframe-reason");
/// The name of the machine that the program runs on.
const HOST: &str = "leverframe-host";
/// How long a hook waits that does not say so, in seconds.
const USUAL_WAIT: u32 = 60;

/// The routes of this module.
pub fn routes() -> Vec<Route> {
    vec![
        own(
            Method::Post,
            "/v1/gate/{agent}",
            "Takes the input of a hook of `claude`, `codex` or `gemini`. It answers a question after the decision, or \
             after `Prefer: wait=SECONDS`, in the format of that program; the header `Leverframe-Verdict` has the \
             verdict. A caller that repeats an `Idempotency-Key` joins its earlier question",
            &[content(AnswerShape::Content(&["application/json"]))],
            |api, call| Box::pin(answer(api, call)),
        )
        .streamed(),
    ]
}

async fn answer(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let word = call.path.get("agent").map_or("", String::as_str);
    let agent: ExternalAgent = word
        .parse()
        .map_err(|unknown| Problem::not_found("agent", word).hint(format!("{unknown}")))?;
    let body = read_body(call.take_stream(), MAX_HOOK_BYTES, &call.account).await?;
    let hook = strict_json::read(&body)
        .map_err(|error| Problem::invalid(format!("the body is no JSON: {error}")))?;
    let host = match call.headers.get(HOST) {
        Some(name) => Some(
            name.to_str()
                .map_err(|_| Problem::invalid("the header `Leverframe-Host` is not ASCII"))?
                .to_owned(),
        ),
        None => None,
    };
    let wait = call.headers.get("prefer").and_then(preferred);
    let ask = AskGate {
        agent,
        hook,
        wait_seconds: wait.map_or(USUAL_WAIT, |seconds| {
            u32::try_from(seconds.clamp(1, LONGEST_GATE_WAIT)).unwrap_or(USUAL_WAIT)
        }),
        host,
    };
    let envelope = call.envelope_from(ask, Surface::Gate, call.idempotency_key()?)?;
    let answer = api.client.execute(envelope).await?;
    let mut response = (StatusCode::OK, axum::Json(answer.body)).into_response();
    let headers = response.headers_mut();
    headers.insert(VERDICT, HeaderValue::from_static(answer.verdict.as_str()));
    if let Some(reason) = answer.reason {
        let encoded =
            percent_encoding::utf8_percent_encode(&reason, percent_encoding::NON_ALPHANUMERIC);
        if let Ok(value) = HeaderValue::from_str(&encoded.to_string()) {
            headers.insert(REASON, value);
        }
    }
    Ok(response)
}
