//! Channels: list, look, policy, what-if, pause.

use std::sync::Arc;

use axum::response::Response;

use crate::api::error::Refusal;
use crate::api::request::{Call, EmptyBody, parameter};
use crate::api::route::{Method, Route, Shape, body, command, get, ok, optional, page};
use crate::api::state::Api;
use crate::protocol::channel::Channel;
use crate::protocol::ids::SessionId;
use crate::protocol::policy::{PolicyPatch, WhatIf};
use crate::protocol::problem::Problem;
use crate::protocol::request::{
    DrainChannel, GetChannel, GetWhatIf, GiveBackSession, ListChannels, ListSessions, PauseChannel,
    ResumeChannel, SetPolicy, TakeOverSession, TestChannel,
};
use crate::protocol::session::{OutboxItem, Session};
use crate::protocol::snapshot::PageRequest;
use crate::protocol::words::{Autonomy, SessionState};
use crate::words_of;

words_of!(levels, Autonomy);

/// The routes of this module.
pub fn routes() -> Vec<Route> {
    vec![
        get(
            "/v1/channels",
            "All channels",
            &[],
            &[page::<Channel>()],
            |api, call| Box::pin(list(api, call)),
        ),
        get(
            "/v1/channels/{id}",
            "One channel",
            &[],
            &[ok::<Channel>()],
            |api, call| Box::pin(one(api, call)),
        ),
        command(
            Method::Patch,
            "/v1/channels/{id}/policy",
            "Change a channel's policy; absent fields stay",
            body::<PolicyPatch>(),
            &[ok::<Channel>()],
            |api, call| Box::pin(policy(api, call)),
        ),
        get(
            "/v1/channels/{id}/what-if",
            "What would have run without asking under another policy",
            &[
                optional("autonomy", Shape::Words(levels), "the level to try"),
                optional(
                    "auto_approve",
                    Shape::Text,
                    "the list to try, with commas between its entries",
                ),
                optional("block", Shape::Text, "the list to try"),
                optional("always_ask", Shape::Text, "the list to try"),
                optional("limit", Shape::Number, "past calls, 1 to 200"),
            ],
            &[ok::<WhatIf>()],
            |api, call| Box::pin(what_if(api, call)),
        ),
        command(
            Method::Post,
            "/v1/channels/{id}/pause",
            "Stop taking from and sending to its platform",
            body::<EmptyBody>(),
            &[ok::<Channel>()],
            |api, call| Box::pin(pause(api, call)),
        ),
        command(
            Method::Post,
            "/v1/channels/{id}/resume",
            "Undo a pause",
            body::<EmptyBody>(),
            &[ok::<Channel>()],
            |api, call| Box::pin(resume(api, call)),
        ),
        command(
            Method::Post,
            "/v1/channels/{id}/drain",
            "Finish what was begun and take up nothing new, or everything again",
            body::<Drain>(),
            &[ok::<Channel>()],
            |api, call| Box::pin(drain(api, call)),
        ),
        command(
            Method::Post,
            "/v1/channels/{id}/test",
            "Send a message that says that it is a test; the delivery tells how it ended",
            body::<Test>(),
            &[ok::<OutboxItem>()],
            |api, call| Box::pin(test(api, call)),
        ),
        command(
            Method::Post,
            "/v1/channels/{id}/take-over",
            "Hold the agent of a conversation, to write in its place",
            body::<Conversation>(),
            &[ok::<Session>()],
            |api, call| Box::pin(take_over(api, call)),
        ),
        command(
            Method::Post,
            "/v1/channels/{id}/release",
            "Give a conversation back to its agent",
            body::<Conversation>(),
            &[ok::<Session>()],
            |api, call| Box::pin(release(api, call)),
        ),
    ]
}

/// Body of a drain.
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct Drain {
    /// False takes up work again; default true.
    drain: Option<bool>,
}

/// Body of a test.
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct Test {
    /// Conversation key; default the one with the newest change.
    conversation: Option<String>,
}

/// Body of a take-over and of its end.
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct Conversation {
    /// Conversation key.
    conversation: String,
    /// Even where somebody else holds it.
    #[serde(default)]
    force: bool,
}

async fn list(api: Arc<Api>, _call: Call) -> Result<Response, Refusal> {
    api.answer(ListChannels {}).await
}

async fn one(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let name = call.text("id")?.to_owned();
    api.answer(GetChannel { name }).await
}

async fn policy(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let patch: PolicyPatch = call.json()?;
    let channel = call.text("id")?.to_owned();
    api.execute(&call, SetPolicy { channel, patch }).await
}

async fn what_if(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let list = |name| {
        let entries = call.query.get(name)?.split(',').map(str::trim);
        let entries = entries.filter(|entry| !entry.is_empty());
        Some(entries.map(str::to_owned).collect())
    };
    let patch = PolicyPatch {
        autonomy: call.word::<Autonomy>("autonomy")?,
        auto_approve: list("auto_approve"),
        block: list("block"),
        always_ask: list("always_ask"),
        ..PolicyPatch::default()
    };
    if patch == PolicyPatch::default() {
        let levels = levels().join(", ");
        let missing = format!("is missing: expected one of {levels}, or a list");
        return Err(parameter("autonomy", &missing));
    }
    let query = GetWhatIf {
        channel: call.text("id")?.to_owned(),
        patch,
        limit: call.small("limit", 1..=200)?,
    };
    api.answer(query).await
}

async fn pause(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let EmptyBody {} = call.json()?;
    let channel = call.text("id")?.to_owned();
    api.execute(&call, PauseChannel { channel }).await
}

async fn resume(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let EmptyBody {} = call.json()?;
    let channel = call.text("id")?.to_owned();
    api.execute(&call, ResumeChannel { channel }).await
}

async fn drain(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let body: Drain = call.json()?;
    let channel = call.text("id")?.to_owned();
    let drain = body.drain.unwrap_or(true);
    api.execute(&call, DrainChannel { channel, drain }).await
}

async fn test(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let body: Test = call.json()?;
    api.execute(
        &call,
        TestChannel {
            channel: call.text("id")?.to_owned(),
            conversation: body.conversation,
        },
    )
    .await
}

/// The active session of a conversation of this channel.
async fn session_of(api: &Api, call: &Call, conversation: &str) -> Result<SessionId, Refusal> {
    let channel = call.text("id")?.to_owned();
    let mut cursor = None;
    loop {
        let query = ListSessions {
            state: Some(SessionState::Active),
            channel: Some(channel.clone()),
            page: PageRequest {
                limit: Some(500),
                cursor,
            },
        };
        let page = api.client.call(query).await?;
        if let Some(session) = page.items.iter().find(|s| s.conversation == conversation) {
            return Ok(session.id);
        }
        cursor = page.next_cursor;
        if cursor.is_none() {
            return Err(Problem::not_found("conversation", conversation).into());
        }
    }
}

async fn take_over(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let body: Conversation = call.json()?;
    let take = TakeOverSession {
        session_id: session_of(&api, &call, &body.conversation).await?,
        force: body.force,
    };
    api.execute(&call, take).await
}

async fn release(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let body: Conversation = call.json()?;
    let give_back = GiveBackSession {
        session_id: session_of(&api, &call, &body.conversation).await?,
        force: body.force,
    };
    api.execute(&call, give_back).await
}
