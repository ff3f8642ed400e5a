//! Cost and health over time, as JSON or as CSV.

use std::sync::Arc;

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::api::error::{Refusal, json};
use crate::api::request::Call;
use crate::api::route::{AnswerShape, Route, Success, query};
use crate::api::state::Api;
use crate::client::stats_lines;
use crate::protocol::enums::{StatsFormat, StatsGrouping, StatsStep};
use crate::protocol::request::GetStats;
use crate::protocol::stats::Stats;

/// The media type of CSV with a head.
const CSV: &str = "text/csv; charset=utf-8; header=present";

/// The routes of this module.
pub fn routes() -> Vec<Route> {
    let answer = AnswerShape::Table(|generator| generator.subschema_for::<Stats>());
    vec![Route {
        handler: |api, call| Box::pin(stats(api, call)),
        answers: vec![Success {
            status: StatusCode::OK,
            answer,
        }],
        ..query::<GetStats>("/v1/stats")
            .asks::<StatsQuery>()
            .or("step", StatsStep::Day.as_str())
            .or("by", StatsGrouping::All.as_str())
    }]
}

#[derive(Debug, Deserialize, JsonSchema)]
struct StatsQuery {
    #[serde(flatten)]
    stats: GetStats,
    /// Output format; default: the first format that the header `Accept` names, or else JSON.
    #[serde(default)]
    format: Option<StatsFormat>,
}

async fn stats(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let StatsQuery { stats, format } = call.request()?;
    let format = format.unwrap_or_else(|| accepted(&call.headers));
    let stats = api.client.call(stats).await?;
    match format {
        StatsFormat::Json => json(StatusCode::OK, &stats),
        StatsFormat::Csv => {
            let kind = [(header::CONTENT_TYPE, HeaderValue::from_static(CSV))];
            Ok((kind, stats_lines::csv(&stats)).into_response())
        }
    }
}

/// CSV where the header `Accept` names it, and not JSON before it.
fn accepted(headers: &HeaderMap) -> StatsFormat {
    let kinds = headers.get_all(header::ACCEPT).iter();
    let kinds = kinds.filter_map(|value| value.to_str().ok());
    let mut kinds = kinds.flat_map(|value| value.split(','));
    let first = kinds.find_map(|kind| match kind.split(';').next()?.trim() {
        "text/csv" => Some(StatsFormat::Csv),
        "application/json" => Some(StatsFormat::Json),
        _ => None,
    });
    first.unwrap_or(StatsFormat::Json)
}
