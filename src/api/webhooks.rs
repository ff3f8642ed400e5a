//! Requests for channels: from a platform that calls us, or from another system. No credential is looked at here: the
//! channel's bridge checks the signature, and nothing happens before.

use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use schemars::JsonSchema;
use serde_json::Value;
use tokio::sync::oneshot;

use crate::api::error::Refusal;
use crate::api::request::{Call, read_body};
use crate::api::route::{Method, Needs, Route, own, success};
use crate::api::state::Api;
use crate::api::wait::preferred;
use crate::client::webhooks::{WEBHOOK_BODY_LIMIT, WebhookRefusal, WebhookRequest};
use crate::protocol::enums::ChannelState;
use crate::protocol::problem::{Problem, ProblemKind};
use crate::protocol::request::GetChannel;

/// Longest time that a caller can wait for an answer, in seconds.
const LONGEST_WAIT: u64 = 300;
/// After how many seconds a caller tries again: the bridge is behind, or away.
const BUSY: u64 = 1;
const AWAY: u64 = 30;
/// How much longer the listener waits than the bridge.
const SPARE: Duration = Duration::from_secs(30);

/// The routes of this module.
pub fn routes() -> Vec<Route> {
    vec![
        Route {
            needs: Needs::Nothing,
            ..own(
                Method::Post,
                "/webhooks/{channel}",
                "Takes a request of a platform or another system for a channel, signed as its kind requires; needs no \
                 token. `Prefer: wait=SECONDS` asks a webhook channel to answer with the reply",
                &[success::<Received>(StatusCode::ACCEPTED)],
                |api, call| Box::pin(take(api, call)),
            )
        }
        .streamed(),
    ]
}

/// Outcome of a request.
#[derive(serde::Serialize, JsonSchema)]
struct Received {
    /// `accepted`, `repeated` or `answered`.
    state: &'static str,
}

async fn take(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let channel = call.path.get("channel").cloned().unwrap_or_default();
    let stream = call
        .stream
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
        .take();
    let body = match stream {
        Some(stream) => read_body(stream, WEBHOOK_BODY_LIMIT, &call.account).await?,
        None => axum::body::Bytes::new(),
    };
    let headers = call
        .headers
        .iter()
        .filter_map(|(name, value)| {
            Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
        })
        .collect();
    let wait = call.headers.get("prefer").and_then(preferred);
    let wait = wait.map(|seconds| Duration::from_secs(seconds.clamp(1, LONGEST_WAIT)));
    let (answer, answered) = oneshot::channel();
    let request = WebhookRequest {
        headers,
        body: body.to_vec(),
        wait,
        answer,
    };
    if let Err(refusal) = api.webhooks.deliver(&channel, request) {
        return Err(match refusal {
            WebhookRefusal::NotListening if !is_away(&api, channel).await => Problem::new(
                ProblemKind::NotFound,
                "no such channel",
                refusal.to_string(),
            )
            .hint("`leverframe channels list` names the channels")
            .into(),
            WebhookRefusal::NotListening => {
                unavailable("the channel accepts no requests at the moment", AWAY)
            }
            WebhookRefusal::Busy => unavailable("too many requests wait", BUSY),
        });
    }
    let limit = wait.unwrap_or_default() + SPARE;
    let answer = tokio::select! {
        answer = answered => answer.ok(),
        () = tokio::time::sleep(limit) => None,
        () = api.shutdown.cancelled() => None,
    };
    let Some(answer) = answer else {
        return Err(unavailable("the channel did not accept the request", BUSY));
    };
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let body: &Value = &answer.body;
    let mut response = (status, axum::Json(body)).into_response();
    if let Some(rest) = answer.retry_after {
        let seconds = HeaderValue::from(rest.as_secs().max(1));
        response.headers_mut().insert(header::RETRY_AFTER, seconds);
    }
    Ok(response)
}

/// Whether a channel of this name is there and does not work now: it starts, is paused or has failed.
async fn is_away(api: &Api, name: String) -> bool {
    let found = api.client.call(GetChannel { name }).await;
    found.is_ok_and(|channel| match channel.health.state {
        ChannelState::Starting
        | ChannelState::Degraded
        | ChannelState::Failed
        | ChannelState::Paused => true,
        ChannelState::Connected | ChannelState::Local => false,
    })
}

fn unavailable(detail: &str, seconds: u64) -> Refusal {
    let problem = Problem::new(ProblemKind::Unavailable, "not taken", detail)
        .hint("send the same request again later");
    Refusal::from(problem).header(header::RETRY_AFTER, HeaderValue::from(seconds))
}
