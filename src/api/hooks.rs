//! Hooks: how they do, trying one out, calling one again.

use std::sync::Arc;

use axum::response::Response;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::api::error::Refusal;
use crate::api::request::Call;
use crate::api::route::{Body, Method, Route, body, command, get, ok, page};
use crate::api::state::Api;
use crate::protocol::hook::{Hook, HookTrial};
use crate::protocol::request::{ListHooks, ResetHook, TryHook};
use crate::protocol::words::HookPoint;

/// The routes of this module.
pub fn routes() -> Vec<Route> {
    vec![
        get(
            "/v1/hooks",
            "Every hook at every point, in the order they are called in, with counters",
            &[],
            &[page::<Hook>()],
            |api, call| Box::pin(list(api, call)),
        ),
        command(
            Method::Post,
            "/v1/hooks/{name}/try",
            "Call a hook with an example or a document; nothing follows from what it says",
            body::<Try>(),
            &[ok::<HookTrial>()],
            |api, call| Box::pin(try_out(api, call)),
        ),
        command(
            Method::Post,
            "/v1/hooks/{name}/reset",
            "Call a hook again at once that failed too often; answers its points",
            Body::None,
            &[page::<Hook>()],
            |api, call| Box::pin(reset(api, call)),
        ),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Try {
    /// One of its points; its first when left out.
    point: Option<HookPoint>,
    /// The document it reads; an example when left out.
    input: Option<Value>,
}

async fn list(api: Arc<Api>, _call: Call) -> Result<Response, Refusal> {
    api.answer(ListHooks {}).await
}

async fn try_out(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let body: Try = call.json()?;
    let name = call.text("name")?.to_owned();
    let Try { point, input } = body;
    api.execute(&call, TryHook { name, point, input }).await
}

async fn reset(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let name = call.text("name")?.to_owned();
    api.execute(&call, ResetHook { name }).await
}
