//! The two routes of our own remote client: any command, any query, as the protocol serialises them.
//!
//! The actor is the caller's, as everywhere; a body that names one is refused as an unknown field. Only
//! the surfaces a person sits at can be claimed.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::Response;

use crate::api::error::{Refusal, json};
use crate::api::request::{Call, KEY_LIMIT};
use crate::api::route::{Method, Needs, Route, ok, own};
use crate::api::state::Api;
use crate::client::remote::wire::Submission;
use crate::protocol::command::Actor;
use crate::protocol::enums::{Scope, Surface};
use crate::protocol::problem::Problem;
use crate::protocol::request::{Answer, GetOnCall, Outcome, Query};

fn surfaces() -> Vec<&'static str> {
    vec![
        Surface::Console.as_str(),
        Surface::Http.as_str(),
        Surface::Cli.as_str(),
    ]
}

/// The routes of this module.
pub fn routes() -> Vec<Route> {
    vec![
        own(
            Method::Post,
            "/v1/submit",
            "Carries out a command in the protocol's JSON form",
            &[ok::<Outcome>()],
            |api, call| Box::pin(submit(api, call)),
        )
        .takes::<Submission>(),
        Route {
            needs: Needs::Read,
            ..own(
                Method::Post,
                "/v1/query",
                "Answers a query in the protocol's JSON form",
                &[ok::<Answer>()],
                |api, call| Box::pin(query(api, call)),
            )
            .takes::<Query>()
        },
    ]
}

/// The surface that a command came by. A program with a token says of itself where it is: only an admin token is
/// believed, because other surfaces do not get the policy of the channel `api`.
fn surface_of(actor: &Actor, claimed: Surface) -> Surface {
    match actor {
        Actor::Token { scopes, .. } if !scopes.contains(&Scope::Admin) => Surface::Http,
        Actor::Token { .. } | Actor::Operator { .. } | Actor::Person { .. } | Actor::Engine => {
            claimed
        }
    }
}

async fn submit(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let body: Submission = call.json()?;
    match body.surface {
        Surface::Console | Surface::Http | Surface::Cli => {}
        // `leverframe mcp serve`. What tokens send as a host goes through `/mcp`.
        Surface::Mcp if matches!(call.actor()?, Actor::Operator { .. }) => {}
        Surface::Chat | Surface::Scripted | Surface::Engine | Surface::Mcp | Surface::Gate => {
            return Err(Problem::invalid(format!(
                "request body, field `surface`: `{}` cannot be claimed over HTTP: expected one of {}",
                body.surface,
                surfaces().join(", ")
            ))
            .into());
        }
    }
    let key = match (call.idempotency_key()?, body.idempotency_key) {
        (Some(header), Some(field)) if header != field => {
            return Err(Problem::invalid(
                "the header `Idempotency-Key` and the field `idempotency_key` differ",
            )
            .into());
        }
        (_, Some(field)) if field.is_empty() || field.len() > KEY_LIMIT => {
            return Err(Problem::invalid(format!(
                "request body, field `idempotency_key`: must have 1 to {KEY_LIMIT} bytes"
            ))
            .into());
        }
        (header, field) => header.or(field),
    };
    let surface = surface_of(call.actor()?, body.surface);
    let envelope = call.envelope_from(body.command, surface, key)?;
    json(StatusCode::OK, &api.client.submit(envelope).await?)
}

async fn query(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let query = match call.json()? {
        Query::GetOnCall(_) => Query::GetOnCall(GetOnCall {
            actor: Some(call.actor()?.clone()),
        }),
        query => query,
    };
    json(StatusCode::OK, &api.client.query(query).await?)
}
