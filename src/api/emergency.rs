//! Emergency stop and release.

use std::sync::Arc;

use axum::response::Response;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::api::error::Refusal;
use crate::api::request::Call;
use crate::api::route::{Method, Route, body, command, get, ok};
use crate::api::state::Api;
use crate::protocol::command::Waiting;
use crate::protocol::request::{EmergencyStop, ListUncertain, ReleaseEmergencyStop};
use crate::protocol::snapshot::EngineStatus;
use crate::protocol::uncertain::{ConversationChoice, Uncertain};

/// The routes of this module.
pub fn routes() -> Vec<Route> {
    vec![
        get(
            "/v1/emergency-stop",
            "What waits and what nobody knows: to look at before a release, above all of a quarantine",
            &[],
            &[ok::<Uncertain>()],
            |api, _call| Box::pin(uncertain(api)),
        ),
        command(
            Method::Post,
            "/v1/emergency-stop",
            "Kill running tools and hold everything until released",
            body::<Stop>(),
            &[ok::<EngineStatus>()],
            |api, call| Box::pin(stop(api, call)),
        ),
        command(
            Method::Post,
            "/v1/emergency-stop/release",
            "Release the emergency stop",
            body::<Release>(),
            &[ok::<EngineStatus>()],
            |api, call| Box::pin(release(api, call)),
        ),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Stop {
    /// Shown to everyone.
    reason: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Release {
    /// What happens to what waited; default all.
    #[serde(default)]
    waiting: Waiting,
    /// Where something else happens: `{session_id, waiting}` each.
    #[serde(default)]
    conversations: Vec<ConversationChoice>,
}

async fn uncertain(api: Arc<Api>) -> Result<Response, Refusal> {
    api.answer(ListUncertain {}).await
}

async fn stop(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let body: Stop = call.json()?;
    api.execute(
        &call,
        EmergencyStop {
            reason: body.reason,
        },
    )
    .await
}

async fn release(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let body: Release = call.json()?;
    api.execute(
        &call,
        ReleaseEmergencyStop {
            waiting: body.waiting,
            conversations: body.conversations,
        },
    )
    .await
}
