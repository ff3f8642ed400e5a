//! Chat completions: the client sends the whole conversation each time.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::Response;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::api::error::{Refusal, json};
use crate::api::openai::answer::{Asked, begin, patience};
use crate::api::openai::chat_answer::{self, ChatCompletion};
use crate::api::openai::content::wrong;
use crate::api::openai::dialogue;
use crate::api::openai::parameters::{CHAT, read};
use crate::api::request::Call;
use crate::api::route::{Method, Route, own, streamed};
use crate::api::state::Api;
use crate::protocol::options::ModelParameters;

/// The routes of this module.
pub fn routes() -> Vec<Route> {
    vec![
        own(
            Method::Post,
            "/v1/chat/completions",
            "Talks to the agent of a channel, as OpenAI's chat completions. With `stream` the answer comes as server-sent \
             events; else `Prefer: wait=SECONDS` says how long it may take",
            &[streamed::<ChatCompletion>()],
            |api, call| Box::pin(answer(api, call)),
        )
        .takes::<ChatRequest>(),
    ]
}

/// A request for a chat completion. Further OpenAI parameters are refused if they change the answer, and ignored
/// otherwise.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = true))]
struct ChatRequest {
    /// The conversation: objects with `role` and `content`. The agent answers what follows the last answer.
    messages: Vec<Value>,
    /// The channel whose agent answers.
    #[serde(default = "api")]
    model: String,
    /// Whether to stream the answer.
    #[serde(default)]
    stream: bool,
    /// Options of the stream.
    #[serde(default)]
    stream_options: StreamOptions,
    /// Sampling temperature, 0 to 2.
    temperature: Option<f64>,
    /// Nucleus sampling: share of the probability mass, more than 0 and at most 1.
    top_p: Option<f64>,
    /// Separates the conversations of several people.
    user: Option<String>,
    /// Same as `user`; newer clients send it.
    safety_identifier: Option<String>,
    /// Separates the chats of a program.
    prompt_cache_key: Option<String>,
}

/// The channel of requests that name none.
pub fn api() -> String {
    "api".to_owned()
}

/// Options of a stream.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct StreamOptions {
    /// Whether the stream ends with the token usage.
    #[serde(default)]
    include_usage: bool,
}

async fn answer(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let (request, ignored): (ChatRequest, _) = read(&call, CHAT)?;
    if request.messages.is_empty() {
        return Err(wrong("messages", "expected at least one message"));
    }
    let asked = Asked {
        model: request.model.clone(),
        dialogue: dialogue::read(&request.messages, "messages")?,
        field: "messages",
        apart: [
            request.user,
            request.safety_identifier,
            request.prompt_cache_key,
        ]
        .into_iter()
        .flatten()
        .collect(),
        parameters: ModelParameters {
            temperature: request.temperature,
            top_p: request.top_p,
            tool_choice: None,
        },
        ignored,
        ..Asked::default()
    };
    let begun = begin(&api, &call, asked).await?;
    let mut response = if request.stream {
        let usage = request.stream_options.include_usage;
        chat_answer::stream(
            begun.follower(&api, &call),
            &begun.turn,
            request.model,
            usage,
        )
    } else {
        let settled = begun.settled(&api, &call, patience(&call)).await?;
        json(StatusCode::OK, &ChatCompletion::of(settled, request.model))?
    };
    begun.mark(&mut response);
    Ok(response)
}
