//! Hygiene of the memory: how it stands, what would go, running it, taking it back.

use std::sync::Arc;

use axum::response::Response;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::api::error::Refusal;
use crate::api::request::Call;
use crate::api::route::{Body, Method, Route, Shape, body, command, get, ok, optional, page};
use crate::api::state::Api;
use crate::protocol::hygiene::{HygieneReport, HygieneRun, HygieneStatus};
use crate::protocol::request::{
    GetHygiene, ListHygieneRuns, PreviewHygiene, RunHygiene, UndoHygiene,
};

/// The routes of this module.
pub fn routes() -> Vec<Route> {
    vec![
        get(
            "/v1/memory/hygiene",
            "Settings of hygiene, its last and next run, sizes by day",
            &[],
            &[ok::<HygieneStatus>()],
            |api, _call| Box::pin(async move { api.answer(GetHygiene {}).await }),
        ),
        get(
            "/v1/memory/hygiene/preview",
            "What a run would archived or remove now, and why; changes nothing",
            &[],
            &[ok::<HygieneReport>()],
            |api, _call| Box::pin(async move { api.answer(PreviewHygiene {}).await }),
        ),
        get(
            "/v1/memory/hygiene/runs",
            "Runs, newest first",
            &[
                optional("limit", Shape::Number, "at most this many, 1 to 500"),
                optional("cursor", Shape::Text, "`next_cursor` of the page before"),
            ],
            &[page::<HygieneRun>()],
            |api, call| Box::pin(runs(api, call)),
        ),
        command(
            Method::Post,
            "/v1/memory/hygiene",
            "Archived now what is old or too much, remove for good what was long ago",
            body::<Run>(),
            &[ok::<HygieneRun>()],
            |api, call| Box::pin(run(api, call)),
        ),
        command(
            Method::Post,
            "/v1/memory/hygiene/{id}/undo",
            "Bring back what a run archived",
            Body::None,
            &[ok::<HygieneRun>()],
            |api, call| Box::pin(undo(api, call)),
        ),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Run {
    /// Also where a scope would lose more than half of what it holds to retention.
    #[serde(default)]
    yes: bool,
}

async fn runs(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let page = call.page()?;
    api.answer(ListHygieneRuns { page }).await
}

async fn run(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let body: Run = call.json()?;
    api.execute(&call, RunHygiene { yes: body.yes }).await
}

async fn undo(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let id = call.id()?;
    api.execute(&call, UndoHygiene { id }).await
}
