//! `leverframe channels pairings|pair|revoke`: who asks for access, and who has it.

use crate::cli::exit::Failure;
use crate::cli::find::submit;
use crate::cli::table;
use crate::cli::terminal::{Format, Terminal, cell};
use crate::client::console_client::ConsoleClient;
use crate::protocol::enums::PairingState;
use crate::protocol::pairing::Pairing;
use crate::protocol::problem::Problem;
use crate::protocol::request::{AcceptPairing, ListPairings, RefusePairing, RevokePairing};

async fn all(
    client: &dyn ConsoleClient,
    state: Option<PairingState>,
) -> Result<Vec<Pairing>, Failure> {
    Ok(client.call(ListPairings { state }).await?.items)
}

/// Lists them.
pub async fn list(
    client: &dyn ConsoleClient,
    terminal: &mut Terminal<'_>,
    format: Format,
    state: Option<PairingState>,
) -> Result<(), Failure> {
    table::list(terminal, format, &all(client, state).await?)
}

/// Lets somebody in, or keeps them out.
pub async fn pair(
    client: &dyn ConsoleClient,
    terminal: &mut Terminal<'_>,
    format: Format,
    pairing: String,
    deny: bool,
) -> Result<(), Failure> {
    let decided = if deny {
        submit(client, RefusePairing { pairing }).await?
    } else {
        submit(client, AcceptPairing { pairing }).await?
    };
    table::list(terminal, format, &[decided])
}

/// Takes either back.
pub async fn revoke(
    client: &dyn ConsoleClient,
    terminal: &mut Terminal<'_>,
    format: Format,
    channel: &str,
    user: &str,
) -> Result<(), Failure> {
    let found = all(client, None).await?.into_iter().find(|one| {
        let bare = one.sender.split_once(':').map(|(_, id)| id);
        one.channel == channel && (one.sender == user || bare == Some(user))
    });
    let Some(found) = found else {
        let who = format!("{} on {}", cell(user), cell(channel));
        return Err(Problem::not_found("pairing", who)
            .hint(
                "`leverframe channels pairings` lists who has access; an id in `allowed_users` or under [people] is \
                 taken out of the configuration",
            )
            .into());
    };
    let pairing = found.id.to_string();
    let revoked = submit(client, RevokePairing { pairing }).await?;
    table::list(terminal, format, &[revoked])
}
