//! Taking over conversations by channel and key.

use std::sync::Arc;

use axum::response::Response;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::api::error::Refusal;
use crate::api::request::Call;
use crate::api::route::{Method, Route, ok, own};
use crate::api::state::Api;
use crate::protocol::enums::SessionState;
use crate::protocol::ids::SessionId;
use crate::protocol::problem::Problem;
use crate::protocol::request::{GiveBackSession, ListSessions, TakeOverSession};
use crate::protocol::session::Session;
use crate::protocol::snapshot::PageRequest;

/// The routes of this module.
pub fn routes() -> Vec<Route> {
    vec![
        own(
            Method::Post,
            "/v1/channels/{id}/take-over",
            "Takes a conversation over: its agent pauses, and the caller writes in its place",
            &[ok::<Session>()],
            |api, call| Box::pin(take_over(api, call)),
        )
        .takes::<Conversation>(),
        own(
            Method::Post,
            "/v1/channels/{id}/release",
            "Gives a conversation back to its agent",
            &[ok::<Session>()],
            |api, call| Box::pin(release(api, call)),
        )
        .takes::<Conversation>(),
    ]
}

/// A conversation of the channel.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Conversation {
    /// Conversation key.
    conversation: String,
    /// Whether to do it even if another person has taken the conversation over.
    #[serde(default)]
    force: bool,
}

/// The active session of a conversation of this channel.
async fn session_of(api: &Api, call: &Call, conversation: &str) -> Result<SessionId, Refusal> {
    let channel = call.text("id")?.to_owned();
    let mut cursor = None;
    loop {
        let query = ListSessions {
            state: Some(SessionState::Active),
            channel: Some(channel.clone()),
            prefix: None,
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
