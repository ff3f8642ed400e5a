//! Sweeping on demand.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::Response;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::api::error::{Refusal, json};
use crate::api::outcome;
use crate::api::request::Call;
use crate::api::route::{Method, Route, body, command, ok};
use crate::api::router::Api;
use crate::protocol::command::Command;
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
    let body: Sweep = call.json()?;
    let envelope = call.envelope(Command::Sweep {
        preview: body.preview,
    })?;
    json(
        StatusCode::OK,
        &outcome::swept(&*api.client, envelope).await?,
    )
}
