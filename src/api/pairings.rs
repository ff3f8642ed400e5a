//! People who ask to be let in on a channel, and who was.

use std::sync::Arc;

use axum::response::Response;

use crate::api::error::Refusal;
use crate::api::request::{Call, EmptyBody};
use crate::api::route::{Method, Route, Shape, body, command, get, ok, optional, page};
use crate::api::state::Api;
use crate::protocol::pairing::Pairing;
use crate::protocol::request::Outcome;
use crate::protocol::request::Request;
use crate::protocol::request::{
    AcceptPairing, Command, ListPairings, RefusePairing, RevokePairing,
};
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
            |api, call| Box::pin(change(api, call, |pairing| AcceptPairing { pairing })),
        ),
        command(
            Method::Post,
            "/v1/pairings/{id}/refuse",
            "Keep somebody out, without a word to them",
            body::<EmptyBody>(),
            &[ok::<Pairing>()],
            |api, call| Box::pin(change(api, call, |pairing| RefusePairing { pairing })),
        ),
        command(
            Method::Post,
            "/v1/pairings/{id}/revoke",
            "Take either back: they are unknown again, and may ask again",
            body::<EmptyBody>(),
            &[ok::<Pairing>()],
            |api, call| Box::pin(change(api, call, |pairing| RevokePairing { pairing })),
        ),
    ]
}

async fn list(api: Arc<Api>, call: Call) -> Result<Response, Refusal> {
    let state = call.word("state")?;
    api.answer(ListPairings { state }).await
}

async fn change<C>(api: Arc<Api>, call: Call, command: fn(String) -> C) -> Result<Response, Refusal>
where
    C: Request<Wire = Command, Answer = Outcome, Reply = Pairing>,
{
    let EmptyBody {} = call.json()?;
    let pairing = call.text("id")?.to_owned();
    api.execute(&call, command(pairing)).await
}
