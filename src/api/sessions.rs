//! Sessions, their messages and transcripts, and the one-shot `ask`.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::Response;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::api::error::{Refusal, json};
use crate::api::request::{Call, EmptyBody};
use crate::api::route::{
    Body, Field, Method, Route, Shape, Success, body, command, get, ok, optional, page, success,
};
use crate::api::state::Api;
use crate::api::wait;
use crate::api::wait::Acceptance;
use crate::protocol::command::BudgetRequest;
use crate::protocol::ids::TakeOverId;
use crate::protocol::problem::{Problem, ProblemKind};
use crate::protocol::request::{
    Ask, DismissRefusedCalls, EndSession, GetSession, GetTranscript, GetTranscriptFrom,
    GiveBackSession, ListSessions, ResumeSession, SendAsBot, SendMessage, StartSession,
    TakeOverSession, UpdateSession,
};
use crate::protocol::session::{Continuation, Session, TranscriptEntry};
use crate::protocol::words::SessionState;
use crate::words_of;

words_of!(session_states, SessionState);

const LIMIT: Field = optional("limit", Shape::Number, "at most this many, 1 to 500");
const CURSOR: Field = optional("cursor", Shape::Text, "`next_cursor` of the page before");

fn accepted() -> [Success; 2] {
    [success::<Acceptance>(202), ok::<Continuation>()]
}

const WAIT: &[Field] = &[optional(
    "wait",
    Shape::Number,
    "seconds to wait, 0 to 600, for the end of the turn or for an approval",
)];

/// The routes of this module.
pub fn routes() -> Vec<Route> {
    vec![
        Route {
            answers: vec![success::<Session>(201)],
            ..command(
                Method::Post,
                "/v1/sessions",
                "Open a session, or get the active one of the same conversation",
                body::<Start>(),
                &[],
                |api, call| Box::pin(start(api, call)),
            )
        },
        get(
            "/v1/sessions",
            "Sessions, newest change first",
            &[
                optional("state", Shape::Words(session_states), "only this state"),
                optional("channel", Shape::Text, "only this channel"),
                LIMIT,
                CURSOR,
            ],
            &[page::<Session>()],
            |api, call| Box::pin(list(api, call)),
        ),
        get(
            "/v1/sessions/{id}",
            "One session",
            &[],
            &[ok::<Session>()],
            |api, call| Box::pin(one(api, call)),
        ),
        command(
            Method::Patch,
            "/v1/sessions/{id}",
            "Change a session",
            body::<Update>(),
            &[ok::<Session>()],
            |api, call| Box::pin(update(api, call)),
        ),
        command(
            Method::Delete,
            "/v1/sessions/{id}",
            "End a session; open continuations are cancelled",
            Body::None,
            &[ok::<Session>()],
            |api, call| Box::pin(end(api, call)),
        ),
        command(
            Method::Post,
            "/v1/sessions/{id}/resume",
            "Go back to an earlier session; the active one of its conversation ends",
            body::<EmptyBody>(),
            &[ok::<Session>()],
            |api, call| Box::pin(resume(api, call)),
        ),
        command(
            Method::Post,
            "/v1/sessions/{id}/refused-calls/dismiss",
            "Take the calls that were refused because too many waited off the Queue; they stay refused",
            body::<EmptyBody>(),
            &[ok::<Session>()],
            |api, call| Box::pin(dismiss_refused_calls(api, call)),
        ),
        Route {
            query: WAIT.to_vec(),
            ..command(
                Method::Post,
                "/v1/sessions/{id}/messages",
                "Send a message",
                body::<Message>(),
                &accepted(),
                |api, call| Box::pin(send(api, call)),
            )
        },
        command(
            Method::Post,
            "/v1/sessions/{id}/take-over",
            "Hold the agent of its conversation, to write in its place",
            body::<Force>(),
            &[ok::<Session>()],
            |api, call| Box::pin(take_over(api, call)),
        ),
        command(
            Method::Post,
            "/v1/sessions/{id}/say",
            "Write as the bot in a conversation that was taken over; what waited is answered with it",
            body::<Said>(),
            &[ok::<Session>()],
            |api, call| Box::pin(say(api, call)),
        ),
        command(
            Method::Post,
            "/v1/sessions/{id}/release",
            "Give its conversation back to the agent, which answers what came in since the last word",
            body::<Force>(),
            &[ok::<Session>()],
            |api, call| Box::pin(release(api, call)),
        ),
        get(
            "/v1/sessions/{id}/transcript",
            "A window of a session's history",
            &[
                optional("before", Shape::Number, "entries before this position"),
                optional(
                    "from",
                    Shape::Number,
                    "instead: the oldest entries at this position and after it; 0 is the beginning",
                ),
                LIMIT,
            ],
            &[page::<TranscriptEntry>()],
            |api, call| Box::pin(transcript(api, call)),
        ),
        Route {
            query: WAIT.to_vec(),
            ..command(
                Method::Post,
                "/v1/ask",
                "Ask in a temporary session",
                body::<Message>(),
                &accepted(),
                |api, call| Box::pin(ask(api, call)),
            )
        },
    ]
}

/// Body of a take-over and of its end.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Force {
    /// Even where somebody else holds it.
    #[serde(default)]
    force: bool,
}

/// Body of a word in place of the agent.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Said {
    /// `taken_over.id` of the session.
    take_over_id: TakeOverId,
    /// Markdown, at most 256 KiB.
    text: String,
}

/// Body of `POST /v1/sessions`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Start {
    /// Channel name; default `api`.
    channel: Option<String>,
    /// Conversation key; default new.
    conversation: Option<String>,
    /// Shown in lists.
    title: Option<String>,
    /// `<provider>/<model>`.
    model: Option<String>,
}

/// Body of `PATCH /v1/sessions/{id}`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Update {
    /// New title.
    title: Option<String>,
    /// New model.
    model: Option<String>,
    /// Hold new turns back.
    paused: Option<bool>,
}

/// Body of a message.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Message {
    /// The message, at most 256 KiB.
    text: String,
    /// `<provider>/<model>` for this turn.
    model: Option<String>,
    /// Lower limits for this turn.
    budgets: Option<BudgetRequest>,
    /// Must be empty in this version.
    attachments: Option<Vec<serde_json::Value>>,
    /// Ask the model even where an answer is cached.
    #[serde(default)]
    fresh: bool,
}

impl Message {
    fn read(call: &Call) -> Result<Self, Refusal> {
        let message: Message = call.json()?;
        if message
            .attachments
            .as_ref()
            .is_some_and(|list| !list.is_empty())
        {
            return Err(Problem::new(
                ProblemKind::NotOffered,
                "no attachments",
                "this version takes no attachments over HTTP",
            )
            .hint("put the file into the channel's workspace and name its path in the text")
            .into());
        }
        Ok(message)
    }
}

async fn start(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let body: Start = call.json()?;
    let envelope = call.envelope(StartSession {
        channel: body.channel,
        conversation: body.conversation,
        title: body.title,
        model: body.model,
    })?;
    let session = api.client.execute(envelope).await?;
    json(StatusCode::CREATED, &session)
}

async fn list(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let query = ListSessions {
        state: call.word("state")?,
        channel: call.query.get("channel").cloned(),
        page: call.page()?,
    };
    api.answer(query).await
}

async fn one(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    api.answer(GetSession { id: call.id()? }).await
}

async fn update(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let body: Update = call.json()?;
    api.execute(
        &call,
        UpdateSession {
            session_id: call.id()?,
            title: body.title,
            model: body.model,
            paused: body.paused,
        },
    )
    .await
}

async fn end(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    api.execute(
        &call,
        EndSession {
            session_id: call.id()?,
        },
    )
    .await
}

async fn dismiss_refused_calls(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let EmptyBody {} = call.json()?;
    let session_id = call.id()?;
    api.execute(&call, DismissRefusedCalls { session_id }).await
}

async fn resume(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let EmptyBody {} = call.json()?;
    api.execute(
        &call,
        ResumeSession {
            session_id: call.id()?,
        },
    )
    .await
}

async fn take_over(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let Force { force } = call.json()?;
    let session_id = call.id()?;
    let take = TakeOverSession { session_id, force };
    api.execute(&call, take).await
}

async fn say(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let Said { take_over_id, text } = call.json()?;
    let say = SendAsBot {
        session_id: call.id()?,
        take_over_id,
        text,
    };
    api.execute(&call, say).await
}

async fn release(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let Force { force } = call.json()?;
    let session_id = call.id()?;
    let give_back = GiveBackSession { session_id, force };
    api.execute(&call, give_back).await
}

async fn send(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let message = Message::read(&call)?;
    let wait = wait::seconds(&call)?;
    let envelope = call.envelope(SendMessage {
        session_id: call.id()?,
        text: message.text,
        model: message.model,
        budgets: message.budgets.unwrap_or_default(),
        fresh: message.fresh,
    })?;
    wait::submit(&api, envelope, wait).await
}

async fn ask(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let message = Message::read(&call)?;
    let wait = wait::seconds(&call)?;
    let envelope = call.envelope(Ask {
        channel: "api".to_owned(),
        text: message.text,
        model: message.model,
        budgets: message.budgets.unwrap_or_default(),
        fresh: message.fresh,
    })?;
    wait::submit(&api, envelope, wait).await
}

async fn transcript(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let (session_id, limit) = (call.id()?, call.limit()?);
    let before = call.number("before", 0..=u64::MAX)?;
    match call.number("from", 0..=u64::MAX)? {
        None => {
            let query = GetTranscript {
                session_id,
                before,
                limit,
            };
            api.answer(query).await
        }
        Some(from) if before.is_none() => {
            let query = GetTranscriptFrom {
                session_id,
                from,
                limit,
            };
            api.answer(query).await
        }
        Some(_) => Err(Problem::invalid("`before` and `from` exclude each other").into()),
    }
}
