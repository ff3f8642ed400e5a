//! Going on with turns, for a reason that the log keeps.

use std::sync::Arc;

use axum::response::Response;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::api::error::Refusal;
use crate::api::form::shortened;
use crate::api::request::Call;
use crate::api::route::{Method, Route, command};
use crate::api::state::Api;
use crate::protocol::request::{Command, Outcome, Request, ResumeContinuation, RetryContinuation};
use crate::protocol::session::Continuation;

/// The routes of this module.
pub fn routes() -> Vec<Route> {
    vec![
        reasoned::<ResumeContinuation>("/v1/continuations/{id}/resume"),
        reasoned::<RetryContinuation>("/v1/continuations/{id}/retry"),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Reason {
    /// Reason, written to the log only.
    reason: Option<String>,
}

fn reasoned<R>(path: &'static str) -> Route
where
    R: Request<Wire = Command, Answer = Outcome, Reply = Continuation>,
    R: DeserializeOwned + JsonSchema + 'static,
{
    Route {
        handler: |api, call| Box::pin(act::<R>(api, call)),
        ..command::<R>(Method::Post, path)
            .id("continuation_id")
            .takes::<Reason>()
    }
}

/// The commands have no place for a reason; the log has.
async fn act<R>(api: Arc<Api>, call: Call) -> Result<Response, Refusal>
where
    R: Request<Wire = Command, Answer = Outcome, Reply = Continuation> + DeserializeOwned,
{
    let Reason { reason } = call.json()?;
    let command = call.request::<R>()?;
    let id = call.text("id")?;
    if let Some(reason) = reason {
        tracing::info!(continuation = %id, what = R::NAME, reason = shortened(&reason), "reason given");
    }
    api.execute(&call, command).await
}
