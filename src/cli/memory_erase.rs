//! `leverframe memory erase-user ID`: shows first what would go, then asks for the id again.

use crate::cli::exit::Failure;
use crate::cli::find::submit;
use crate::cli::terminal::{Cli, Format, Terminal, cell};
use crate::protocol::memory::Erasure;
use crate::protocol::request::{EraseUser, PreviewEraseUser};

/// Erases a user.
pub async fn user(cli: &mut Cli<'_>, person: String, yes: bool) -> Result<(), Failure> {
    let query = PreviewEraseUser {
        person: person.clone(),
    };
    let found = cli.client.call(query).await?;
    if !yes {
        match cli.terminal.format {
            Format::Json => cli.terminal.json(&found)?,
            Format::Human => list(&mut cli.terminal, "would be deleted for good", &found)?,
        }
        if !cli.terminal.is_attended() {
            cli.terminal
                .note("Nothing was deleted: add --yes to delete it.")?;
            return Err(Failure::Waiting);
        }
        let typed = cli
            .terminal
            .ask("You cannot undo this. Type the id to continue:")?;
        if typed != person {
            cli.terminal.note("Nothing was removed.")?;
            return Err(Failure::Waiting);
        }
    }
    let order = EraseUser { person };
    let gone = submit(cli.client, order).await?;
    cli.terminal.show(&gone, |terminal, gone| {
        list(terminal, "removed for good", gone)?;
        terminal.line(&format!("{} rows still hold the id", gone.left))?;
        terminal.note(
            "The audit keeps who decided what, but no messages. Your backups, and copies made before a migration, \
             still hold the data.",
        )
    })?;
    if gone.left > 0 {
        return Err(Failure::Ended(format!(
            "{} rows still hold the id: new ones arrived meanwhile; erase again",
            gone.left
        )));
    }
    Ok(())
}

fn list(terminal: &mut Terminal<'_>, what: &str, found: &Erasure) -> Result<(), Failure> {
    terminal.line(&format!("{}: {what}", cell(&found.person)))?;
    for (count, name) in [
        (found.memories, "memories"),
        (found.summaries, "summaries made from their messages"),
        (
            found.continuations,
            "turns with their calls, approvals and deliveries",
        ),
        (found.artifacts, "artifacts"),
        (found.datasets, "datasets"),
        (found.cached, "cached responses"),
    ] {
        terminal.line(&format!("{count:>8}  {name}"))?;
    }
    if found.open > 0 {
        terminal.line(&format!(
            "{:>8}  of the turns are under way and must be ended first",
            found.open
        ))?;
    }
    Ok(())
}
