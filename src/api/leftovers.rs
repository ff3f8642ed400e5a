//! What runs of programs left in places from which other programs run code.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::Response;

use crate::api::error::{Refusal, json};
use crate::api::request::{Call, EmptyBody};
use crate::api::route::{Method, Route, Shape, body, command, get, ok, optional, page};
use crate::api::router::Api;
use crate::api::{doctor, outcome};
use crate::protocol::command::Command;
use crate::protocol::leftovers::Leftovers;
use crate::protocol::request::ListLeftovers;

/// The routes of this module.
pub fn routes() -> Vec<Route> {
    vec![
        get(
            "/v1/leftovers",
            "What runs left in places from which git, editors, shells and agents run programs, the newest first, at most 200",
            &[optional(
                "all",
                Shape::Flag,
                "also what a person has dismissed",
            )],
            &[page::<Leftovers>()],
            |api, call| Box::pin(list(api, call)),
        ),
        command(
            Method::Post,
            "/v1/leftovers/{id}/dismiss",
            "Take what a call left off the Queue, once it was looked at; no file changes",
            body::<EmptyBody>(),
            &[ok::<Leftovers>()],
            |api, call| Box::pin(dismiss(api, call)),
        ),
    ]
}

async fn list(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let all = doctor::flag(&call, "all")?;
    api.answer(ListLeftovers { all }).await
}

async fn dismiss(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let EmptyBody {} = call.json()?;
    let tool_call_id = call.id()?;
    let envelope = call.envelope(Command::DismissLeftovers { tool_call_id })?;
    json(
        StatusCode::OK,
        &outcome::leftovers(&*api.client, envelope).await?,
    )
}
