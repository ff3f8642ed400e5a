//! Emergency stop and release.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use crate::api::error::{Refusal, json};
use crate::api::outcome;
use crate::api::request::Call;
use crate::api::route::{Method, Route, Shape, command, fields, ok, optional};
use crate::api::router::Api;
use crate::protocol::command::{Command, Waiting};

fn waitings() -> Vec<&'static str> {
    vec!["newest", "all", "drop"]
}

/// The routes of this module.
pub fn routes() -> Vec<Route> {
    vec![
        command(
            Method::Post,
            "/v1/emergency-stop",
            "Kill running tools and hold everything until released",
            fields(&[optional("reason", Shape::Text, "shown to everyone")]),
            &[ok("EngineStatus")],
            |api, call| Box::pin(stop(api, call)),
        ),
        command(
            Method::Post,
            "/v1/emergency-stop/release",
            "Release the emergency stop",
            fields(&[optional(
                "waiting",
                Shape::Words(waitings),
                "what happens to what waited; default all",
            )]),
            &[ok("EngineStatus")],
            |api, call| Box::pin(release(api, call)),
        ),
    ]
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stop {
    reason: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Release {
    #[serde(default)]
    waiting: Waiting,
}

async fn stop(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let body: Stop = call.json()?;
    let envelope = call.envelope(Command::EmergencyStop {
        reason: body.reason,
    })?;
    json(
        StatusCode::OK,
        &outcome::engine(&*api.client, envelope).await?,
    )
}

async fn release(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let body: Release = call.json()?;
    let envelope = call.envelope(Command::ReleaseEmergencyStop {
        waiting: body.waiting,
    })?;
    json(
        StatusCode::OK,
        &outcome::engine(&*api.client, envelope).await?,
    )
}
