//! Sweeping on demand.

use std::sync::Arc;

use axum::response::Response;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::api::error::Refusal;
use crate::api::request::Call;
use crate::api::route::{Method, Route, body, command, ok};
use crate::api::state::Api;
use crate::protocol::request;
use crate::protocol::snapshot::SweepReport;

/// The routes of this module.
pub fn routes() -> Vec<Route> {
    vec![command(
        Method::Post,
        "/v1/sweep",
        "Remove what is kept no longer, or count it",
        body::<Sweep>(),
        &[ok::<SweepReport>()],
        |api, call| Box::pin(sweep(api, call)),
    )]
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Sweep {
    /// Only count.
    #[serde(default)]
    preview: bool,
}

async fn sweep(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let Sweep { preview } = call.json()?;
    api.execute(&call, request::Sweep { preview }).await
}
