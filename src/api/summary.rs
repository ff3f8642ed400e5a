//! What somebody who takes over a shift must know.

use std::sync::Arc;

use axum::response::Response;

use crate::api::doctor::time;
use crate::api::error::Refusal;
use crate::api::request::Call;
use crate::api::route::{Route, Shape, get, ok, optional};
use crate::api::state::Api;
use crate::protocol::request::GetShiftSummary;
use crate::protocol::summary::ShiftSummary;

/// The routes of this module.
pub fn routes() -> Vec<Route> {
    vec![get(
        "/v1/summary",
        "What waits, what is out of the ordinary, who did what and what was spent since a time",
        &[optional(
            "since",
            Shape::Text,
            "RFC 3339; eight hours ago when left out",
        )],
        &[ok::<ShiftSummary>()],
        |api, call| Box::pin(summary(api, call)),
    )]
}

async fn summary(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let since = time(&call, "since")?;
    api.answer(GetShiftSummary { since }).await
}
