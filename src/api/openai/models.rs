//! The list of models: those of our providers in `items`, and the channels whose agents answer in `data`, which is what
//! clients of OpenAI's interface read.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::Response;
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::error::{Refusal, json};
use crate::api::openai::error::MODELS_PATH;
use crate::api::request::Call;
use crate::api::route::{Method, Needs, Route, ok, own};
use crate::api::state::Api;
use crate::protocol::channel::Channel;
use crate::protocol::chat::may_talk;
use crate::protocol::command::Actor;
use crate::protocol::models::ProviderModels;
use crate::protocol::problem::{Problem, ProblemKind};
use crate::protocol::request::{GetChannel, ListChannels, ListModels};

/// The routes of this module.
pub fn routes() -> Vec<Route> {
    vec![Route {
        needs: Needs::Credential,
        ..own(
            Method::Get,
            MODELS_PATH,
            "Models of every provider in `items` (scope `read`), and in `data`, for clients of OpenAI, the channels whose \
             agents answer the caller",
            &[ok::<ModelList>()],
            |api, call| Box::pin(list(api, call)),
        )
    }]
}

/// Models, for Leverframe's own programs and for clients of OpenAI's interface.
#[derive(Serialize, JsonSchema)]
struct ModelList {
    /// Always `list`.
    object: &'static str,
    /// Channels whose agents answer the caller, as names for the field `model`.
    data: Vec<AgentModel>,
    /// Models of every provider; empty without the scope `read`.
    items: Vec<ProviderModels>,
    /// Always null.
    next_cursor: Option<String>,
}

/// A channel as a model of OpenAI's interface.
#[derive(Serialize, JsonSchema)]
struct AgentModel {
    /// Name of the channel.
    id: String,
    /// Always `model`.
    object: &'static str,
    /// Always 0: the creation time of a channel is unknown.
    created: u64,
    /// Always `leverframe`.
    owned_by: &'static str,
}

async fn list(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let reads = call.caller.as_ref().is_some_and(|caller| caller.may_read());
    let (items, next_cursor) = if reads {
        let page = api.client.call(ListModels {}).await?;
        (page.items, page.next_cursor)
    } else {
        (Vec::new(), None)
    };
    let names = offered(&api, call.actor()?).await?;
    if !reads && names.is_empty() {
        return Err(no_agent(call.actor()?));
    }
    let data = names.into_iter().map(|id| AgentModel {
        id,
        object: "model",
        created: 0,
        owned_by: "leverframe",
    });
    let list = ModelList {
        object: "list",
        data: data.collect(),
        items,
        next_cursor,
    };
    json(StatusCode::OK, &list)
}

/// The channels whose agents answer an actor, `api` first.
async fn offered(api: &Api, actor: &Actor) -> Result<Vec<String>, Refusal> {
    let channels = api.client.call(ListChannels {}).await?.items;
    let mut names: Vec<String> = channels
        .into_iter()
        .filter(|channel| may_talk(actor, channel.kind))
        .map(|channel| channel.name)
        .collect();
    names.sort_by_key(|name| (name != "api", name.clone()));
    Ok(names)
}

fn no_agent(actor: &Actor) -> Refusal {
    Problem::new(
        ProblemKind::Forbidden,
        "not allowed",
        format!(
            "{} has neither the scope `chat` nor `operate`",
            actor.label()
        ),
    )
    .hint("use a token with the scope `chat`")
    .into()
}

/// The channel that a request names as its model.
pub async fn channel(api: &Api, actor: &Actor, model: &str) -> Result<Channel, Refusal> {
    let name = model.to_owned();
    let found = match api.client.call(GetChannel { name }).await {
        Ok(channel) => Some(channel).filter(|channel| may_talk(actor, channel.kind)),
        Err(problem) if problem.kind == ProblemKind::NotFound => None,
        Err(problem) => return Err(problem.into()),
    };
    if let Some(channel) = found {
        return Ok(channel);
    }
    let names = offered(api, actor).await?;
    if names.is_empty() {
        return Err(no_agent(actor));
    }
    let shown: String = model
        .chars()
        .take(64)
        .flat_map(char::escape_debug)
        .collect();
    let problem = Problem::new(
        ProblemKind::NotFound,
        "no such model",
        format!(
            "the model `{shown}` does not exist or is not yours: `model` names the channel whose agent answers, here one of {}",
            names.join(", ")
        ),
    );
    Err(Refusal::from(problem)
        .parameter("model")
        .code("model_not_found"))
}
