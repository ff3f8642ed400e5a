//! `leverframe emergency-stop` and `leverframe release`.

use crate::cli::exit::{Failure, unexpected};
use crate::cli::find::submit;
use crate::cli::terminal::{Format, Terminal, cell};
use crate::client::console_client::ConsoleClient;
use crate::protocol::command::{Command, Outcome};

/// Submits the command and says how the engine stands then.
pub async fn run(
    client: &dyn ConsoleClient,
    terminal: &mut Terminal<'_>,
    format: Format,
    command: Command,
) -> Result<(), Failure> {
    let Outcome::Engine(engine) = submit(client, command).await? else {
        return Err(unexpected("the engine"));
    };
    match format {
        Format::Json => terminal.json(&engine),
        Format::Human => match engine.held_since {
            Some(since) => terminal.line(&format!(
                "held since {since}: {}\n`leverframe release` lets work go on",
                cell(engine.held_reason.as_deref().unwrap_or("no reason given"))
            )),
            None => terminal.line("released: work goes on"),
        },
    }
}
