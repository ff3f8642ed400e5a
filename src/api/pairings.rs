//! People who ask to be let in on a channel, and who was.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::Response;

use crate::api::error::{Refusal, json};
use crate::api::outcome;
use crate::api::request::{Call, EmptyBody};
use crate::api::route::{Method, Route, Shape, body, command, get, ok, optional, page};
use crate::api::router::Api;
use crate::protocol::command::Command;
use crate::protocol::pairing::{Pairing, PairingCommand};
use crate::protocol::request::ListPairings;
use crate::protocol::words::PairingState;
use crate::words_of;

words_of!(states, PairingState);

/// The routes of this module.
pub fn routes() -> Vec<Route> {
    vec![
        get(
            "/v1/pairings",
            "Strangers who ask to be let in on a channel, and who was: whoever waits first, then the newest",
            &[optional("state", Shape::Words(states), "only this state")],
            &[page::<Pairing>()],
            |api, call| Box::pin(list(api, call)),
        ),
        command(
            Method::Post,
            "/v1/pairings/{id}/accept",
            "Let somebody in as a user, by the code they were told or by id",
            body::<EmptyBody>(),
            &[ok::<Pairing>()],
            |api, call| {
                Box::pin(change(api, call, |pairing| PairingCommand::Accept {
                    pairing,
                }))
            },
        ),
        command(
            Method::Post,
            "/v1/pairings/{id}/refuse",
            "Keep somebody out, without a word to them",
            body::<EmptyBody>(),
            &[ok::<Pairing>()],
            |api, call| {
                Box::pin(change(api, call, |pairing| PairingCommand::Refuse {
                    pairing,
                }))
            },
        ),
        command(
            Method::Post,
            "/v1/pairings/{id}/revoke",
            "Take either back: they are unknown again, and may ask again",
            body::<EmptyBody>(),
            &[ok::<Pairing>()],
            |api, call| {
                Box::pin(change(api, call, |pairing| PairingCommand::Revoke {
                    pairing,
                }))
            },
        ),
    ]
}

async fn list(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let state = call.word("state")?;
    api.answer(ListPairings { state }).await
}

async fn change(
    api: Arc<Api>,
    call: Call,
    command: fn(String) -> PairingCommand,
) -> Result<Response, Refusal> {
    let EmptyBody {} = call.json()?;
    let command = command(call.text("id")?.to_owned());
    let envelope = call.envelope(Command::Pairing(command))?;
    json(
        StatusCode::OK,
        &outcome::pairing(&*api.client, envelope).await?,
    )
}
