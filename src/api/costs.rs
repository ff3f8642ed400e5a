//! What was spent.

use std::sync::Arc;

use axum::response::Response;

use crate::api::error::Refusal;
use crate::api::request::{Call, parameter};
use crate::api::route::{Route, Shape, get, ok, optional};
use crate::api::state::Api;
use crate::clock::Day;
use crate::protocol::costs::Costs;
use crate::protocol::request::GetCosts;
use crate::protocol::words::CostsBy;
use crate::words_of;

words_of!(sums, CostsBy);

/// The routes of this module.
pub fn routes() -> Vec<Route> {
    vec![get(
        "/v1/costs",
        "What was spent, by channel, model or day, and how far the budgets of today are used up",
        &[
            optional(
                "by",
                Shape::Words(sums),
                "what to sum by; by day when left out",
            ),
            optional(
                "since",
                Shape::Text,
                "first local day, YYYY-MM-DD; 30 days when left out",
            ),
            optional("until", Shape::Text, "last local day; today when left out"),
        ],
        &[ok::<Costs>()],
        |api, call| Box::pin(costs(api, call)),
    )]
}

async fn costs(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let day = |name: &str| {
        call.query
            .get(name)
            .map(|text| {
                text.parse::<Day>()
                    .map_err(|_| parameter(name, &"expected a day like 2026-01-31"))
            })
            .transpose()
    };
    let by = match call.query.get("by") {
        None => CostsBy::Day,
        Some(word) => word.parse().map_err(|error| parameter("by", &error))?,
    };
    let query = GetCosts {
        by,
        since: day("since")?,
        until: day("until")?,
    };
    api.answer(query).await
}
