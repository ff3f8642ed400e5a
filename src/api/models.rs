//! Models: what is configured, asking one to see what works, and looking for servers.

use std::sync::Arc;

use axum::response::Response;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::api::error::Refusal;
use crate::api::request::{Call, EmptyBody};
use crate::api::route::{Method, Route, body, command, get, ok, page};
use crate::api::state::Api;
use crate::protocol::models::{Discovery, ModelTest, ProviderModels};
use crate::protocol::request::{DiscoverModels, ListModels, TestModel};

/// The routes of this module.
pub fn routes() -> Vec<Route> {
    vec![
        get(
            "/v1/models",
            "The configured providers, and of each model that is named what it can do and costs; nobody is asked",
            &[],
            &[page::<ProviderModels>()],
            |api, _| Box::pin(list(api)),
        ),
        command(
            Method::Post,
            "/v1/models/test",
            "Really ask a model, a few small calls that cost what they cost; answers when they have ended",
            body::<Test>(),
            &[ok::<ModelTest>()],
            |api, call| Box::pin(test(api, call)),
        ),
        command(
            Method::Post,
            "/v1/models/discover",
            "Look for model servers on the engine's machine, with the lines that would declare them; none is used",
            body::<EmptyBody>(),
            &[ok::<Discovery>()],
            |api, call| Box::pin(discover(api, call)),
        ),
    ]
}

async fn list(api: Arc<Api>) -> Result<Response, Refusal> {
    api.answer(ListModels {}).await
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Test {
    /// <provider>/<model>; the default model where it is left out.
    #[serde(default)]
    model: Option<String>,
}

async fn test(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let body: Test = call.json()?;
    api.execute(&call, TestModel { model: body.model }).await
}

async fn discover(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let EmptyBody {} = call.json()?;
    api.execute(&call, DiscoverModels {}).await
}
