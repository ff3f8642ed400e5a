//! Emergency stop and release.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use crate::api::error::{Refusal, json};
use crate::api::outcome;
use crate::api::request::Call;
use crate::api::route::{Method, Route, Shape, command, fields, get, ok, optional};
use crate::api::router::Api;
use crate::protocol::command::{Command, Waiting};
use crate::protocol::snapshot::Query;
use crate::protocol::uncertain::ConversationChoice;

fn waitings() -> Vec<&'static str> {
    vec!["newest", "all", "drop"]
}

/// The routes of this module.
pub fn routes() -> Vec<Route> {
    vec![
        get(
            "/v1/emergency-stop",
            "What waits and what nobody knows: to look at before a release, above all of a quarantine",
            &[],
            &[ok("Uncertain")],
            |api, _call| Box::pin(outcome_of_query(api)),
        ),
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
            fields(&[
                optional(
                    "waiting",
                    Shape::Words(waitings),
                    "what happens to what waited; default all",
                ),
                optional(
                    "conversations",
                    Shape::List,
                    "where something else happens: `{session_id, waiting}` each",
                ),
            ]),
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
    #[serde(default)]
    conversations: Vec<ConversationChoice>,
}

async fn outcome_of_query(api: Arc<Api>) -> Result<Response, Refusal> {
    outcome::answer_json(&*api.client, Query::Uncertain).await
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
        conversations: body.conversations,
    })?;
    json(
        StatusCode::OK,
        &outcome::engine(&*api.client, envelope).await?,
    )
}
