//! Channels: list, look, policy, what-if, pause.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::Response;

use crate::api::error::{Refusal, json};
use crate::api::outcome;
use crate::api::request::{Call, parameter};
use crate::api::route::{
    Field, Method, Route, Shape, command, fields, get, ok, optional, page, required,
};
use crate::api::router::Api;
use crate::protocol::command::Command;
use crate::protocol::policy::PolicyPatch;
use crate::protocol::snapshot::Query;
use crate::protocol::words::Autonomy;
use crate::words_of;

words_of!(levels, Autonomy);

const POLICY: &[Field] = &[
    optional("autonomy", Shape::Words(levels), "new level"),
    optional(
        "auto_approve",
        Shape::Texts,
        "tools that run without asking",
    ),
    optional("block", Shape::Texts, "tools that never run"),
    optional("always_ask", Shape::Texts, "tools that always ask"),
    optional(
        "expires_in_seconds",
        Shape::Number,
        "the level holds this long",
    ),
    optional(
        "if_version",
        Shape::Number,
        "only if the policy still has this version",
    ),
];

/// The routes of this module.
pub fn routes() -> Vec<Route> {
    vec![
        get(
            "/v1/channels",
            "All channels",
            &[],
            &[page("Channel")],
            |api, call| Box::pin(list(api, call)),
        ),
        get(
            "/v1/channels/{id}",
            "One channel",
            &[],
            &[ok("Channel")],
            |api, call| Box::pin(one(api, call)),
        ),
        command(
            Method::Patch,
            "/v1/channels/{id}/policy",
            "Change a channel's policy; absent fields stay",
            fields(POLICY),
            &[ok("Channel")],
            |api, call| Box::pin(policy(api, call)),
        ),
        get(
            "/v1/channels/{id}/what-if",
            "What would have run without asking under another level",
            &[
                required("autonomy", Shape::Words(levels), "the level to try"),
                optional("limit", Shape::Number, "past calls, 1 to 200"),
            ],
            &[ok("WhatIf")],
            |api, call| Box::pin(what_if(api, call)),
        ),
        command(
            Method::Post,
            "/v1/channels/{id}/pause",
            "Stop taking from and sending to its platform",
            fields(&[]),
            &[ok("Channel")],
            |api, call| Box::pin(pause(api, call)),
        ),
        command(
            Method::Post,
            "/v1/channels/{id}/resume",
            "Undo a pause",
            fields(&[]),
            &[ok("Channel")],
            |api, call| Box::pin(resume(api, call)),
        ),
    ]
}

/// A body without fields.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

async fn list(api: Arc<Api>, _call: Call) -> Result<Response, Refusal> {
    outcome::answer_json(&*api.client, Query::Channels).await
}

async fn one(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let name = call.text("id")?.to_owned();
    outcome::answer_json(&*api.client, Query::Channel { name }).await
}

async fn policy(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let patch: PolicyPatch = call.json()?;
    let channel = call.text("id")?.to_owned();
    answer(&api, &call, Command::SetPolicy { channel, patch }).await
}

async fn what_if(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let Some(autonomy) = call.word::<Autonomy>("autonomy")? else {
        return Err(parameter(
            "autonomy",
            &format!("is missing: expected one of {}", levels().join(", ")),
        ));
    };
    let query = Query::WhatIf {
        channel: call.text("id")?.to_owned(),
        autonomy,
        limit: call.small("limit", 1..=200)?,
    };
    outcome::answer_json(&*api.client, query).await
}

async fn pause(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let Nothing {} = call.json()?;
    let channel = call.text("id")?.to_owned();
    answer(&api, &call, Command::PauseChannel { channel }).await
}

async fn resume(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let Nothing {} = call.json()?;
    let channel = call.text("id")?.to_owned();
    answer(&api, &call, Command::ResumeChannel { channel }).await
}

async fn answer(api: &Api, call: &Call, command: Command) -> Result<Response, Refusal> {
    let envelope = call.envelope(command)?;
    json(
        StatusCode::OK,
        &outcome::channel(&*api.client, envelope).await?,
    )
}
