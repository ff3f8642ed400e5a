//! `leverframe channels pairings|pair|revoke`: who asks for access, and who has it.

use crate::cli::exit::Failure;
use crate::cli::find::submit;
use crate::cli::table;
use crate::cli::terminal::{Cli, cell};
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
pub async fn list(cli: &mut Cli<'_>, state: Option<PairingState>) -> Result<(), Failure> {
    table::list(&mut cli.terminal, &all(cli.client, state).await?)
}

/// Lets somebody in, or keeps them out.
pub async fn pair(cli: &mut Cli<'_>, pairing: String, deny: bool) -> Result<(), Failure> {
    let decided = if deny {
        submit(cli.client, RefusePairing { pairing }).await?
    } else {
        submit(cli.client, AcceptPairing { pairing }).await?
    };
    table::list(&mut cli.terminal, &[decided])
}

/// Takes either back.
pub async fn revoke(cli: &mut Cli<'_>, channel: &str, user: &str) -> Result<(), Failure> {
    let found = all(cli.client, None).await?.into_iter().find(|one| {
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
    let revoked = submit(cli.client, RevokePairing { pairing }).await?;
    table::list(&mut cli.terminal, &[revoked])
}
