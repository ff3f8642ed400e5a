//! Continuations: list, look, cancel, resume, retry.

use std::sync::Arc;

use axum::response::Response;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::api::error::Refusal;
use crate::api::request::{Call, shortened};
use crate::api::route::{Field, Method, Route, Shape, body, command, get, ok, optional, page};
use crate::api::state::Api;
use crate::protocol::ids::ContinuationId;
use crate::protocol::request::{
    CancelContinuation, GetContinuation, ListContinuations, ListSteps, ResumeContinuation,
    RetryContinuation,
};
use crate::protocol::session::{Continuation, Step};
use crate::protocol::words::ContinuationState;
use crate::words_of;

words_of!(states, ContinuationState);

const LIST: &[Field] = &[
    optional("state", Shape::Words(states), "only this state"),
    optional("session", Shape::Text, "only this session"),
    optional("limit", Shape::Number, "at most this many, 1 to 500"),
    optional("cursor", Shape::Text, "`next_cursor` of the page before"),
];

/// The routes of this module.
pub fn routes() -> Vec<Route> {
    vec![
        get(
            "/v1/continuations",
            "Continuations, newest change first",
            LIST,
            &[page::<Continuation>()],
            |api, call| Box::pin(list(api, call)),
        ),
        get(
            "/v1/continuations/{id}",
            "One continuation",
            &[],
            &[ok::<Continuation>()],
            |api, call| Box::pin(one(api, call)),
        ),
        get(
            "/v1/continuations/{id}/steps",
            "Its steps as stored",
            &[],
            &[page::<Step>()],
            |api, call| Box::pin(steps(api, call)),
        ),
        command(
            Method::Post,
            "/v1/continuations/{id}/cancel",
            "End a continuation; its tools are killed",
            body::<Reason>(),
            &[ok::<Continuation>()],
            |api, call| Box::pin(act(api, call, Act::Cancel)),
        ),
        command(
            Method::Post,
            "/v1/continuations/{id}/resume",
            "Let an interrupted continuation go on",
            body::<Reason>(),
            &[ok::<Continuation>()],
            |api, call| Box::pin(act(api, call, Act::Resume)),
        ),
        command(
            Method::Post,
            "/v1/continuations/{id}/retry",
            "Start the same message again as a new continuation",
            body::<Reason>(),
            &[ok::<Continuation>()],
            |api, call| Box::pin(act(api, call, Act::Retry)),
        ),
    ]
}

#[derive(Debug, Clone, Copy)]
enum Act {
    Cancel,
    Resume,
    Retry,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Reason {
    /// Shown in history where the turn is cancelled, else written to the log only.
    reason: Option<String>,
}

async fn list(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let query = ListContinuations {
        state: call.word("state")?,
        session_id: call.word("session")?,
        page: call.page()?,
    };
    api.answer(query).await
}

async fn one(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    api.answer(GetContinuation { id: call.id()? }).await
}

async fn steps(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let query = ListSteps {
        continuation_id: call.id()?,
    };
    api.answer(query).await
}

async fn act(api: Arc<Api>, call: Call, act: Act) -> Result<Response, Refusal> {
    let body: Reason = call.json()?;
    let continuation_id = call.id()?;
    match act {
        Act::Cancel => {
            let reason = body.reason;
            let cancel = CancelContinuation {
                continuation_id,
                reason,
            };
            api.execute(&call, cancel).await
        }
        Act::Resume => {
            note(continuation_id, "resume", body.reason.as_deref());
            api.execute(&call, ResumeContinuation { continuation_id })
                .await
        }
        Act::Retry => {
            note(continuation_id, "retry", body.reason.as_deref());
            api.execute(&call, RetryContinuation { continuation_id })
                .await
        }
    }
}

/// The commands have no place for a reason; the log has.
fn note(id: ContinuationId, what: &str, reason: Option<&str>) {
    if let Some(reason) = reason {
        tracing::info!(continuation = %id, what, reason = shortened(reason), "reason given");
    }
}
