//! Responses: the client names the response before, or sends the conversation.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use axum::response::Response as HttpResponse;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::api::error::{Refusal, json as answer_json};
use crate::api::openai::answer::{Asked, Settled, begin, patience};
use crate::api::openai::chat::api;
use crate::api::openai::content::wrong;
use crate::api::openai::conversation::Conversations;
use crate::api::openai::dialogue;
use crate::api::openai::follow::failure;
use crate::api::openai::parameters::{RESPONSES, read};
use crate::api::openai::responses_answer::{self, Frame, ResponseObject};
use crate::api::request::Call;
use crate::api::route::{Method, Needs, Route, ok, own, streamed};
use crate::api::state::Api;
use crate::protocol::command::BudgetRequest;
use crate::protocol::enums::ContinuationState;
use crate::protocol::ids::ContinuationId;
use crate::protocol::options::ModelParameters;
use crate::protocol::problem::Problem;

/// The routes of this module.
pub fn routes() -> Vec<Route> {
    vec![
        own(
            Method::Post,
            "/v1/responses",
            "Talks to the agent of a channel, as OpenAI's responses. With `stream` the answer comes as server-sent events; \
             else `Prefer: wait=SECONDS` says how long it may take",
            &[streamed::<ResponseObject>()],
            |api, call| Box::pin(answer(api, call)),
        )
        .takes::<ResponsesRequest>(),
        Route {
            needs: Needs::Credential,
            ..own(
                Method::Get,
                "/v1/responses/{id}",
                "A response of the caller as it is now",
                &[ok::<ResponseObject>()],
                |api, call| Box::pin(look(api, call)),
            )
        },
    ]
}

/// A request for a response. Further OpenAI parameters are refused if they change the answer, and ignored otherwise.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = true))]
struct ResponsesRequest {
    /// The message, or the conversation as a list of items.
    input: Value,
    /// The channel whose agent answers.
    #[serde(default = "api")]
    model: String,
    /// Instructions of the client for the model in this turn. The operator's instructions take precedence.
    instructions: Option<String>,
    /// Id of the previous response. Its conversation continues.
    previous_response_id: Option<String>,
    /// Name of a conversation of the client, as a string or as an object with `id`.
    conversation: Option<Value>,
    /// Whether to stream the answer.
    #[serde(default)]
    stream: bool,
    /// Whether to answer at once, before the turn ends.
    #[serde(default)]
    background: bool,
    /// Most tool calls.
    max_tool_calls: Option<u32>,
    /// Metadata of the client, returned with the response.
    #[serde(default)]
    metadata: Map<String, Value>,
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

/// The turn that a response is of.
fn turn_id(response: &str) -> Option<ContinuationId> {
    let id = response.strip_prefix("resp_")?;
    format!("con_{id}").parse().ok()
}

fn previous(id: &str) -> Result<ContinuationId, Refusal> {
    turn_id(id).ok_or_else(|| {
        Refusal::from(Problem::not_found(
            "response",
            id.chars().take(64).collect::<String>(),
        ))
        .parameter("previous_response_id")
        .code("previous_response_not_found")
    })
}

fn conversation(given: &Value) -> Result<String, Refusal> {
    let name = given
        .as_str()
        .or_else(|| given.get("id").and_then(Value::as_str));
    match name {
        Some(name) if !name.is_empty() => Ok(name.to_owned()),
        Some(_) | None => Err(wrong(
            "conversation",
            "expected a name, or an object with the field `id`",
        )),
    }
}

async fn answer(api: Arc<Api>, call: Call) -> Result<HttpResponse, Refusal> {
    let (request, ignored): (ResponsesRequest, _) = read(&call, RESPONSES)?;
    if request.previous_response_id.is_some() && request.conversation.is_some() {
        return Err(wrong(
            "previous_response_id",
            "it and `conversation` exclude each other",
        ));
    }
    let items = match &request.input {
        Value::String(text) => vec![json!({ "role": "user", "content": text })],
        Value::Array(items) => items.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            return Err(wrong("input", "expected a string or a list of items"));
        }
    };
    let mut dialogue = dialogue::read(&items, "input")?;
    dialogue
        .advice
        .splice(0..0, request.instructions.iter().cloned());
    let apart = [
        &request.user,
        &request.safety_identifier,
        &request.prompt_cache_key,
    ];
    let asked = Asked {
        model: request.model.clone(),
        dialogue,
        field: "input",
        conversation: request
            .conversation
            .as_ref()
            .map(conversation)
            .transpose()?,
        previous: request
            .previous_response_id
            .as_deref()
            .map(previous)
            .transpose()?,
        apart: apart.into_iter().flatten().cloned().collect(),
        parameters: ModelParameters {
            temperature: request.temperature,
            top_p: request.top_p,
            tool_choice: None,
        },
        budgets: BudgetRequest {
            max_tool_calls: request.max_tool_calls,
            ..BudgetRequest::default()
        },
        ignored,
    };
    let begun = begin(&api, &call, asked).await?;
    let frame = Frame {
        model: request.model,
        instructions: request.instructions,
        previous_response_id: request.previous_response_id,
        metadata: request.metadata,
        temperature: request.temperature,
        top_p: request.top_p,
        background: request.background,
    };
    let mut response = if request.stream {
        responses_answer::stream(begun.follower(&api, &call), &begun.turn, frame)
    } else {
        let wait = if request.background {
            Duration::ZERO
        } else {
            patience(&call)
        };
        let settled = begun.settled(&api, &call, wait).await?;
        answer_json(StatusCode::OK, &ResponseObject::of(&settled, &frame))?
    };
    begun.mark(&mut response);
    Ok(response)
}

async fn look(api: Arc<Api>, call: Call) -> Result<HttpResponse, Refusal> {
    let given = call.text("id")?;
    let unknown = || Problem::not_found("response", given.chars().take(64).collect::<String>());
    let id = turn_id(given).ok_or_else(unknown)?;
    let conversations = Conversations {
        api: &api,
        actor: call.actor()?,
        channel: "",
    };
    let turn = conversations.turn(id).await?;
    let frame = Frame {
        model: turn.channel.clone(),
        ..Frame::default()
    };
    let has_failed = turn.state.is_terminal() && turn.state != ContinuationState::Completed;
    let object = if has_failed {
        let refusal = failure(&turn, call.caller.as_ref());
        ResponseObject::failed(&turn, &frame, refusal.refused())
    } else {
        ResponseObject::of(
            &Settled::of(&api, call.caller.as_ref(), turn, String::new()).await?,
            &frame,
        )
    };
    answer_json(StatusCode::OK, &object)
}
