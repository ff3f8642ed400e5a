//! Who is on call.

use std::sync::Arc;

use axum::response::Response;

use crate::api::error::Refusal;
use crate::api::request::Call;
use crate::api::route::{Method, Route, body, command, get, ok};
use crate::api::state::Api;
use crate::protocol::duty::{Duty, OnCallRequest};
use crate::protocol::request::{GetDuty, SetOnCall};

/// The routes of this module.
pub fn routes() -> Vec<Route> {
    vec![
        get(
            "/v1/on-call",
            "Who is on call, and who can be named",
            &[],
            &[ok::<Duty>()],
            |api, call| Box::pin(show(api, call)),
        ),
        command(
            Method::Put,
            "/v1/on-call",
            "Say who is on call",
            body::<OnCallRequest>(),
            &[ok::<Duty>()],
            |api, call| Box::pin(set(api, call)),
        ),
    ]
}

async fn show(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let actor = Some(call.actor()?.clone());
    api.answer(GetDuty { actor }).await
}

async fn set(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let request: OnCallRequest = call.json()?;
    api.execute(&call, SetOnCall { request }).await
}
