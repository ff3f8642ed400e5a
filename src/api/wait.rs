//! `?wait=`: holds the answer to a message until its turn ends or waits for a person.
//!
//! Nothing can slip between: the subscription exists before the state is read.

use std::time::Duration;

use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use futures_util::StreamExt as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::error::{Refusal, json};
use crate::api::request::Call;
use crate::api::state::Api;
use crate::protocol::command::Accepted;
use crate::protocol::enums::ContinuationState;
use crate::protocol::event::{EventFilter, StreamItem};
use crate::protocol::ids::{ContinuationId, SessionId};
use crate::protocol::request::Command;
use crate::protocol::request::Outcome;
use crate::protocol::request::Request;
use crate::protocol::request::{Envelope, GetContinuation};
use crate::protocol::session::Continuation;

/// Longest wait, in seconds.
pub const LONGEST: u64 = 600;

/// An accepted message: its turn runs now or later.
#[derive(Serialize, JsonSchema)]
pub(super) struct Acceptance {
    /// Session id.
    session_id: SessionId,
    /// Continuation id: the turn that answers the message.
    continuation_id: ContinuationId,
    /// State of the turn when the answer was written.
    state: ContinuationState,
}

/// Whether the answer is held back.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Wait {
    /// Seconds to wait, 0 to 600, for the end of the turn or for an approval.
    #[schemars(range(min = 0, max = LONGEST))]
    wait: Option<u64>,
}

/// The query parameter `wait`.
pub fn seconds(call: &Call) -> Result<Option<Duration>, Refusal> {
    let Wait { wait } = call.query()?;
    Ok(wait.map(Duration::from_secs))
}

/// The seconds of `Prefer: wait=SECONDS` (RFC 7240), as they are asked for.
pub fn preferred(value: &HeaderValue) -> Option<u64> {
    let text = value.to_str().ok()?;
    let wait = text
        .split([',', ';'])
        .find_map(|one| one.trim().strip_prefix("wait="))?;
    wait.trim().parse().ok()
}

/// Submits a message: 202 at once, or with `wait` 200 with the continuation once there is something to see.
pub async fn submit<C>(
    api: &Api,
    envelope: Envelope<C>,
    wait: Option<Duration>,
) -> Result<Response, Refusal>
where
    C: Request<Wire = Command, Answer = Outcome, Reply = Accepted>,
{
    let accepted = api.client.execute(envelope).await?;
    let Some(wait) = wait else {
        return pending(&accepted, accepted.state);
    };
    let followed = tokio::select! {
        followed = tokio::time::timeout(wait, follow(api, accepted.continuation_id, is_worth_showing)) => followed.ok(),
        // The message is accepted whatever happens to the waiting.
        () = api.shutdown.cancelled() => None,
    };
    match followed {
        Some(Ok(Some(continuation))) => json(StatusCode::OK, &continuation),
        Some(Ok(None)) | None => {
            let state = api
                .client
                .call(GetContinuation {
                    id: accepted.continuation_id,
                })
                .await
                .map_or(accepted.state, |continuation| continuation.state);
            pending(&accepted, state)
        }
        Some(Err(refusal)) => {
            tracing::warn!(?refusal, "waiting for a turn failed");
            pending(&accepted, accepted.state)
        }
    }
}

fn pending(accepted: &Accepted, state: ContinuationState) -> Result<Response, Refusal> {
    json(
        StatusCode::ACCEPTED,
        &Acceptance {
            session_id: accepted.session_id,
            continuation_id: accepted.continuation_id,
            state,
        },
    )
}

fn is_worth_showing(state: ContinuationState) -> bool {
    state.is_terminal()
        || matches!(
            state,
            ContinuationState::AwaitingApproval | ContinuationState::Interrupted
        )
}

/// The continuation once it is in a state that is waited for; none when the stream ended first.
pub async fn follow(
    api: &Api,
    id: ContinuationId,
    until: fn(ContinuationState) -> bool,
) -> Result<Option<Continuation>, Refusal> {
    let filter = EventFilter {
        continuation_id: Some(id),
        ..EventFilter::default()
    };
    let mut events = api.client.events(filter).await?;
    let now = api.client.call(GetContinuation { id }).await?;
    if until(now.state) {
        return Ok(Some(now));
    }
    while let Some(item) = events.next().await {
        let look = match item? {
            StreamItem::Event(event) => event.body.continuation_state().is_some_and(until),
            StreamItem::Reset => true,
        };
        if look {
            let now = api.client.call(GetContinuation { id }).await?;
            if until(now.state) {
                return Ok(Some(now));
            }
        }
    }
    Ok(None)
}
