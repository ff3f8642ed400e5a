//! Messages to sessions, their transcripts and summaries, and the one-shot `ask`.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::Response;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::api::error::{Refusal, json};
use crate::api::request::Call;
use crate::api::route::{Method, Route, Success, ok, own, success};
use crate::api::state::Api;
use crate::api::wait::{self, Acceptance, Wait};
use crate::protocol::artifact::NewAttachment;
use crate::protocol::command::BudgetRequest;
use crate::protocol::memory::Summary;
use crate::protocol::options::{ModelParameters, ToolChoice, TurnOptions};
use crate::protocol::problem::{Problem, ProblemKind};
use crate::protocol::request::{
    Ask, CallTool, GetSessionSummary, GetTranscript, GetTranscriptFrom, SendMessage,
};
use crate::protocol::session::{Continuation, TranscriptEntry};
use crate::protocol::snapshot::Page;

fn accepted() -> [Success; 2] {
    [
        success::<Acceptance>(StatusCode::ACCEPTED),
        ok::<Continuation>(),
    ]
}

/// The routes of this module.
pub fn routes() -> Vec<Route> {
    vec![
        own(
            Method::Post,
            "/v1/sessions/{id}/messages",
            "Sends a message",
            &accepted(),
            |api, call| Box::pin(send(api, call)),
        )
        .asks::<Wait>()
        .takes::<Message>(),
        own(
            Method::Post,
            "/v1/ask",
            "Sends a message to a temporary session, which ends with the turn",
            &accepted(),
            |api, call| Box::pin(ask(api, call)),
        )
        .asks::<Wait>()
        .takes::<Message>(),
        own(
            Method::Post,
            "/v1/sessions/{id}/calls",
            "Calls a tool without a model",
            &accepted(),
            |api, call| Box::pin(call_tool(api, call)),
        )
        .asks::<Wait>()
        .takes::<ToolCall>(),
        own(
            Method::Get,
            "/v1/sessions/{id}/transcript",
            "A window of a session's history",
            &[ok::<Page<TranscriptEntry>>()],
            |api, call| Box::pin(transcript(api, call)),
        )
        .asks::<Window>(),
        own(
            Method::Get,
            "/v1/sessions/{id}/summary",
            "The summary that replaces the oldest turns of a session",
            &[ok::<Summary>()],
            |api, call| Box::pin(summary(api, call)),
        ),
    ]
}

/// Body of a message.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Message {
    /// The message, at most 256 KiB.
    text: String,
    /// `<provider>/<model>` for this turn only.
    model: Option<String>,
    /// Lower limits for this turn.
    budgets: Option<BudgetRequest>,
    /// Files of the message, at most 10 unless `[attachments]` sets another limit. Tools find them in the workspace.
    #[serde(default)]
    attachments: Vec<NewAttachment>,
    /// Whether to ask the model even if a response is cached.
    #[serde(default)]
    fresh: bool,
    /// The only tools that the turn offers and runs; an empty list = no tools. Default: the tools of the channel.
    allow_tools: Option<Vec<String>>,
    /// Extra instructions for the model in this turn only: at most 16 of 1 KiB each.
    #[serde(default)]
    hints: Vec<String>,
    /// Sampling temperature, 0 to 2.
    temperature: Option<f64>,
    /// Nucleus sampling: share of the probability mass, more than 0 and at most 1.
    top_p: Option<f64>,
    /// `auto`, `none`, `required`, or the name of a tool. The last two apply until the turn has made a call.
    tool_choice: Option<ToolChoice>,
}

impl Message {
    fn options(&mut self) -> TurnOptions {
        TurnOptions {
            allow_tools: self.allow_tools.take(),
            hints: std::mem::take(&mut self.hints),
            parameters: ModelParameters {
                temperature: self.temperature,
                top_p: self.top_p,
                tool_choice: self.tool_choice.take(),
            },
            ..TurnOptions::default()
        }
    }
}

async fn send(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let mut message: Message = call.json()?;
    let options = message.options();
    let wait = wait::seconds(&call)?;
    let envelope = call.envelope(SendMessage {
        session_id: call.id()?,
        text: message.text,
        model: message.model,
        budgets: message.budgets.unwrap_or_default(),
        fresh: message.fresh,
        attachments: message.attachments,
        options,
    })?;
    wait::submit(&api, envelope, wait).await
}

/// Body of a tool call.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ToolCall {
    /// Tool name.
    tool: String,
    /// Arguments of the tool, as its schema says.
    #[serde(default)]
    arguments: Map<String, Value>,
}

async fn call_tool(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let ToolCall { tool, arguments } = call.json()?;
    let wait = wait::seconds(&call)?;
    let envelope = call.envelope(CallTool {
        session_id: call.id()?,
        tool,
        arguments,
    })?;
    wait::submit(&api, envelope, wait).await
}

async fn ask(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let mut message: Message = call.json()?;
    let options = message.options();
    let wait = wait::seconds(&call)?;
    let envelope = call.envelope(Ask {
        channel: "api".to_owned(),
        conversation: None,
        text: message.text,
        model: message.model,
        budgets: message.budgets.unwrap_or_default(),
        fresh: message.fresh,
        attachments: message.attachments,
        options,
    })?;
    wait::submit(&api, envelope, wait).await
}

/// Which entries to return.
#[derive(Debug, Deserialize, JsonSchema)]
struct Window {
    /// Entries before this position.
    before: Option<u64>,
    /// Alternatively: the oldest entries at this position and after it; 0 is the beginning.
    from: Option<u64>,
    /// At most this many, 1 to 500.
    #[schemars(range(min = 1, max = 500))]
    limit: Option<u32>,
}

async fn transcript(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let session_id = call.id()?;
    let window: Window = call.query()?;
    let (before, limit) = (window.before, window.limit);
    match window.from {
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

async fn summary(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let session_id = call.id()?;
    let query = GetSessionSummary { session_id };
    match api.client.call(query).await? {
        Some(summary) => json(StatusCode::OK, &summary),
        None => Err(Problem::new(
            ProblemKind::NotFound,
            "no summary",
            format!("session {session_id} has no summary: it was not compacted yet"),
        )
        .hint("the engine compacts a long session; `POST /v1/sessions/{id}/compact` does it now")
        .into()),
    }
}
