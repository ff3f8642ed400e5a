//! The response cache: what it did, what it keeps, and forgetting it.

use std::sync::Arc;

use axum::response::Response;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::api::error::Refusal;
use crate::api::request::Call;
use crate::api::route::{Body, Method, Route, Shape, body, command, get, ok, optional, page};
use crate::api::state::Api;
use crate::protocol::cache::{CacheEntry, CachePurge, CachePurged, CacheStats};
use crate::protocol::problem::Problem;
use crate::protocol::request::{
    GetCache, GetCacheEntry, ListCacheEntries, PinCacheEntry, PurgeCache,
};

/// The routes of this module.
pub fn routes() -> Vec<Route> {
    vec![
        get(
            "/v1/cache",
            "What the response cache did, and why it missed",
            &[],
            &[ok::<CacheStats>()],
            |api, call| Box::pin(stats(api, call)),
        ),
        get(
            "/v1/cache/entries",
            "Cached responses, newest first",
            &[
                optional("channel", Shape::Text, "only this channel"),
                optional("limit", Shape::Number, "at most this many, 1 to 500"),
                optional("cursor", Shape::Text, "`next_cursor` of the page before"),
            ],
            &[page::<CacheEntry>()],
            |api, call| Box::pin(list(api, call)),
        ),
        get(
            "/v1/cache/entries/{id}",
            "One cached response",
            &[],
            &[ok::<CacheEntry>()],
            |api, call| Box::pin(one(api, call)),
        ),
        command(
            Method::Post,
            "/v1/cache/entries/{id}/pin",
            "Keep an answer past its time, or no longer",
            body::<Pin>(),
            &[ok::<CacheEntry>()],
            |api, call| Box::pin(pin(api, call)),
        ),
        command(
            Method::Delete,
            "/v1/cache/entries/{id}",
            "Forget a cached response",
            Body::None,
            &[ok::<CachePurged>()],
            |api, call| Box::pin(forget(api, call)),
        ),
        Route {
            query: vec![
                optional("channel", Shape::Text, "all of this channel"),
                optional("all", Shape::Flag, "all there are"),
            ],
            ..command(
                Method::Delete,
                "/v1/cache/entries",
                "Forget the cached responses of a channel, or all",
                Body::None,
                &[ok::<CachePurged>()],
                |api, call| Box::pin(purge(api, call)),
            )
        },
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Pin {
    /// Whether; default true.
    pinned: Option<bool>,
}

async fn stats(api: Arc<Api>, _call: Call) -> Result<Response, Refusal> {
    api.answer(GetCache {}).await
}

async fn list(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let query = ListCacheEntries {
        channel: call.query.get("channel").cloned(),
        page: call.page()?,
    };
    api.answer(query).await
}

async fn one(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let id = call.text("id")?.to_owned();
    api.answer(GetCacheEntry { id }).await
}

async fn pin(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let body: Pin = call.json()?;
    api.execute(
        &call,
        PinCacheEntry {
            id: call.text("id")?.to_owned(),
            pinned: body.pinned.unwrap_or(true),
        },
    )
    .await
}

async fn carry_out(api: &Api, call: &Call, what: CachePurge) -> Result<Response, Refusal> {
    api.execute(call, PurgeCache { what }).await
}

async fn forget(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let id = call.text("id")?.to_owned();
    carry_out(&api, &call, CachePurge::Entry(id)).await
}

async fn purge(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let what = match (call.query.get("channel"), call.word::<bool>("all")?) {
        (Some(channel), None | Some(false)) => CachePurge::Channel(channel.clone()),
        (None, Some(true)) => CachePurge::All,
        (Some(_), Some(true)) | (None, None | Some(false)) => {
            return Err(Problem::invalid(
                "say what to forget: either `?channel=NAME` or `?all=true`",
            )
            .into());
        }
    };
    carry_out(&api, &call, what).await
}
