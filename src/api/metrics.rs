//! What Prometheus scrapes.

use std::sync::Arc;

use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse as _, Response};

use crate::api::error::Refusal;
use crate::api::route::{AnswerShape, Method, Route, content, own};
use crate::api::state::Api;
use crate::protocol::request::GetMetrics;

/// Prometheus' text format, which its scrapers ask for by this name.
const TEXT_FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The routes of this module.
pub fn routes() -> Vec<Route> {
    vec![own(
        Method::Get,
        "/metrics",
        "Counters and latencies since the start of the daemon, and queue sizes, in Prometheus' text format",
        &[content(AnswerShape::Text)],
        |api, _call| Box::pin(metrics(api)),
    )]
}

async fn metrics(api: Arc<Api>) -> Result<Response, Refusal> {
    let metrics = api.client.call(GetMetrics {}).await?;
    let kind = [(header::CONTENT_TYPE, HeaderValue::from_static(TEXT_FORMAT))];
    Ok((kind, metrics.text).into_response())
}
