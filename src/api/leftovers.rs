//! What runs of programs left in places from which other programs run code.

use std::sync::Arc;

use axum::response::Response;

use crate::api::doctor;
use crate::api::error::Refusal;
use crate::api::request::{Call, EmptyBody};
use crate::api::route::{Method, Route, Shape, body, command, get, ok, optional, page};
use crate::api::state::Api;
use crate::protocol::leftovers::Leftovers;
use crate::protocol::request::{DismissLeftovers, ListLeftovers};

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
    api.execute(&call, DismissLeftovers { tool_call_id }).await
}
