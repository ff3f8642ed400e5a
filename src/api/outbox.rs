//! Deliveries, and the explanation of a tool call.

use std::sync::Arc;

use axum::response::Response;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::api::error::Refusal;
use crate::api::request::Call;
use crate::api::route::{Method, Route, Shape, body, command, get, ok, optional, page};
use crate::api::state::Api;
use crate::protocol::command::DeliveryResolution;
use crate::protocol::request::{ExplainCall, GetDelivery, ListDeliveries, ResolveDelivery};
use crate::protocol::session::{OutboxItem, Why};
use crate::protocol::words::OutboxState;
use crate::words_of;

words_of!(states, OutboxState);

/// The routes of this module.
pub fn routes() -> Vec<Route> {
    vec![
        get(
            "/v1/outbox",
            "Deliveries, newest first",
            &[
                optional("state", Shape::Words(states), "only this state"),
                optional("limit", Shape::Number, "at most this many, 1 to 500"),
                optional("cursor", Shape::Text, "`next_cursor` of the page before"),
            ],
            &[page::<OutboxItem>()],
            |api, call| Box::pin(list(api, call)),
        ),
        get(
            "/v1/outbox/{id}",
            "One delivery",
            &[],
            &[ok::<OutboxItem>()],
            |api, call| Box::pin(one(api, call)),
        ),
        command(
            Method::Post,
            "/v1/outbox/{id}/resolution",
            "Settle an unknown or failed delivery",
            body::<Resolution>(),
            &[ok::<OutboxItem>()],
            |api, call| Box::pin(resolve(api, call)),
        ),
        get(
            "/v1/tool-calls/{id}/why",
            "Why a call ran, asked or was refused",
            &[],
            &[ok::<Why>()],
            |api, call| Box::pin(why(api, call)),
        ),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Resolution {
    /// It was sent, send it again, or drop it.
    resolution: DeliveryResolution,
    /// Kept with the decision.
    reason: Option<String>,
}

async fn list(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let query = ListDeliveries {
        state: call.word("state")?,
        page: call.page()?,
    };
    api.answer(query).await
}

async fn one(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    api.answer(GetDelivery { id: call.id()? }).await
}

async fn resolve(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let body: Resolution = call.json()?;
    api.execute(
        &call,
        ResolveDelivery {
            outbox_id: call.id()?,
            resolution: body.resolution,
            reason: body.reason,
        },
    )
    .await
}

async fn why(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let query = ExplainCall {
        tool_call_id: call.id()?,
    };
    api.answer(query).await
}
