//! Samples of people who are let in.

use leverframe::protocol::enums::PairingState;
use leverframe::protocol::pairing::Pairing;
use leverframe::protocol::request::{AcceptPairing, Answer, Command, ListPairings, Query};

use crate::api_http::samples::{NASTY, approval_id, at, page};

fn pairing() -> Pairing {
    Pairing {
        id: approval_id(),
        channel: "team".to_owned(),
        sender: "telegram:999".to_owned(),
        display: NASTY.to_owned(),
        code: "ABC234".to_owned(),
        state: PairingState::Accepted,
        asked_at: at(),
        expires_at: at(),
        decided_at: Some(at()),
        by: Some("anna".to_owned()),
    }
}

pub fn command() -> Command {
    Command::AcceptPairing(AcceptPairing {
        pairing: "ABC234".to_owned(),
    })
}

pub fn query() -> (Query, Answer) {
    (
        Query::ListPairings(ListPairings {
            state: Some(PairingState::Accepted),
        }),
        Answer::ListPairings(page(pairing())),
    )
}
