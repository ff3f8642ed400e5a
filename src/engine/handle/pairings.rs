//! Grants access to unknown senders, refuses it, and revokes either.

use crate::engine::caller::Caller;
use crate::engine::core::Engine;
use crate::engine::handle::decide;
use crate::engine::views;
use crate::protocol::command::DecisionRequest;
use crate::protocol::enums::{DecisionKind, PairingState};
use crate::protocol::ids::ApprovalId;
use crate::protocol::pairing::Pairing;
use crate::protocol::problem::{Problem, ProblemKind};
use crate::store::commands::revoke_pairing::RevokePairing;

/// Brings a pairing to a state that a person wants: accepted, refused or revoked.
pub async fn settle(
    engine: &Engine,
    caller: &Caller,
    key: &str,
    wanted: PairingState,
) -> Result<Pairing, Problem> {
    let found = find(engine, key).await?;
    let id = found.id;
    if found.state == wanted {
        return Ok(found);
    }
    match (wanted, found.state) {
        (PairingState::Accepted, PairingState::Pending) => {
            decision(engine, caller, id, DecisionKind::Approve).await?;
        }
        (PairingState::Refused, PairingState::Pending) => {
            decision(engine, caller, id, DecisionKind::Deny).await?;
        }
        (PairingState::Revoked, PairingState::Accepted | PairingState::Refused) => {
            let by = caller.reference();
            let revoke = RevokePairing { id, by };
            engine.write(revoke).await?;
            views::announce_channel(engine, &found.channel).await;
        }
        _ => return Err(too_late(&found)),
    }
    engine.read_here(move |reader| reader.pairing(id)).await
}

/// Decides the question about somebody, as it stands.
async fn decision(
    engine: &Engine,
    caller: &Caller,
    id: ApprovalId,
    word: DecisionKind,
) -> Result<(), Problem> {
    let approval = engine.approval(id).await?;
    let request = DecisionRequest::new(word, approval.digest);
    decide::decide(engine, caller, id, request)
        .await
        .map(|_| ())
}

/// Why a pairing takes no such command.
fn too_late(found: &Pairing) -> Problem {
    let (kind, title, hint) = match found.state {
        PairingState::Pending => (
            ProblemKind::NotOffered,
            "nobody has access yet",
            format!(
                "`leverframe channels pair {} --deny` keeps them out",
                found.code
            ),
        ),
        PairingState::Accepted | PairingState::Refused => (
            ProblemKind::Conflict,
            "already decided",
            format!(
                "`leverframe channels revoke {} {}` takes that back; then they can ask again",
                found.channel, found.sender
            ),
        ),
        PairingState::Expired | PairingState::Revoked => (
            ProblemKind::Gone,
            "over",
            "their next message asks again, under a new code".to_owned(),
        ),
    };
    let by = found.by.as_deref().unwrap_or("nobody in time");
    Problem::new(
        kind,
        title,
        format!(
            "{} on {}: {} ({by})",
            found.sender, found.channel, found.state
        ),
    )
    .hint(hint)
}

/// The pairing with an id or a code. Of several with one code only the one that waits is meant.
async fn find(engine: &Engine, key: &str) -> Result<Pairing, Problem> {
    let all = engine.read(|reader| reader.pairings(None)).await?;
    let id = key.parse::<ApprovalId>().ok();
    let mut matching: Vec<Pairing> = all
        .into_iter()
        .filter(|one| Some(one.id) == id || one.code.eq_ignore_ascii_case(key.trim()))
        .collect();
    let waits = |one: &Pairing| one.state == PairingState::Pending;
    if matching.len() > 1 && matching.iter().filter(|one| waits(one)).count() == 1 {
        matching.retain(waits);
    }
    match matching.len() {
        1 => matching.pop(),
        0 => None,
        _ => {
            return Err(Problem::conflict(
                "two have this code",
                format!("`{key}` was told to {} people", matching.len()),
            )
            .hint("name the pairing by its id: `leverframe channels pairings --json`"));
        }
    }
    .ok_or_else(|| {
        Problem::not_found("pairing", key.chars().take(64).collect::<String>())
            .hint("`leverframe channels pairings` lists them with their codes")
    })
}
