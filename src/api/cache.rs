//! Removing cached responses.

use std::sync::Arc;

use axum::response::Response;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::api::error::Refusal;
use crate::api::request::Call;
use crate::api::route::{Method, Route, ok, own};
use crate::api::state::Api;
use crate::protocol::cache::{CachePurge, CachePurgeResult};
use crate::protocol::problem::Problem;
use crate::protocol::request::PurgeCache;

/// The routes of this module.
pub fn routes() -> Vec<Route> {
    vec![
        own(
            Method::Delete,
            "/v1/cache/entries/{id}",
            "Removes a cached response",
            &[ok::<CachePurgeResult>()],
            |api, call| {
                Box::pin(async move {
                    let what = CachePurge::Entry(call.text("id")?.to_owned());
                    api.execute(&call, PurgeCache { what }).await
                })
            },
        ),
        own(
            Method::Delete,
            "/v1/cache/entries",
            "Removes the cached responses of a channel, or all",
            &[ok::<CachePurgeResult>()],
            |api, call| Box::pin(purge(api, call)),
        )
        .asks::<Purge>(),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Purge {
    /// Removes all responses of this channel.
    channel: Option<String>,
    /// Removes all responses.
    #[serde(default)]
    all: bool,
}

async fn purge(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let Purge { channel, all } = call.query()?;
    let what = match (channel, all) {
        (Some(channel), false) => CachePurge::Channel(channel),
        (None, true) => CachePurge::All,
        (Some(_), true) | (None, false) => {
            return Err(Problem::invalid(
                "say what to remove: either `?channel=NAME` or `?all=true`",
            )
            .into());
        }
    };
    api.execute(&call, PurgeCache { what }).await
}
