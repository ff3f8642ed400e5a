//! `leverframe emergency-stop` and `leverframe release`.

use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use crate::cli::connect;
use crate::cli::exit::Failure;
use crate::cli::terminal::{Cli, Format, Terminal, cell};
use crate::client::remote::connection::Limits;
use crate::clock::Timestamp;
use crate::protocol::request::Request;
use crate::protocol::request::{Command, EmergencyStop, Outcome};
use crate::protocol::snapshot::EngineStatus;
use crate::runtime::stop_signal;

/// The time the socket has before the signal is sent. A stop itself waits two seconds for tools to die.
const LIMITS: Limits = Limits {
    connect: Duration::from_secs(1),
    answer: Duration::from_secs(2),
    request: Duration::from_secs(4),
    long: Duration::from_secs(4),
    idle: Duration::from_secs(4),
};

/// A stop by signal, for programs.
#[derive(Serialize)]
struct BySignal<'a> {
    signalled_process: i32,
    held_since: Timestamp,
    held_reason: &'a str,
}

/// Stops the engine of a data directory: over its socket, or by signal where that does not answer.
pub async fn stop(
    data_dir: &Path,
    terminal: &mut Terminal<'_>,
    reason: Option<String>,
) -> Result<(), Failure> {
    let over_socket = match connect::daemon_within(data_dir, LIMITS).await {
        Ok(client) => {
            let command = EmergencyStop { reason };
            run(&mut terminal.with(&client), command).await
        }
        Err(failure) => Err(failure),
    };
    let Err(failure) = over_socket else {
        return Ok(());
    };
    let Some(signalled) = stop_signal::send(data_dir).await? else {
        return Err(failure);
    };
    let process = signalled.process;
    terminal.note(&format!(
        "the socket did not work: {}\nprocess {process} got SIGUSR1 instead, which also stops it",
        cell(&failure.to_string())
    ))?;
    let Some((since, why)) = signalled.held else {
        return Err(Failure::Ended(format!(
            "process {process} did not confirm the stop; if its tools still run: kill -9 {process}"
        )));
    };
    match terminal.format {
        Format::Json => terminal.json(&BySignal {
            signalled_process: process,
            held_since: since,
            held_reason: &why,
        }),
        Format::Human => say_held(terminal, since, &why),
    }
}

fn say_held(terminal: &mut Terminal<'_>, since: Timestamp, why: &str) -> Result<(), Failure> {
    terminal.line(&format!(
        "emergency stop since {since}: {}\n`leverframe release` resumes all work",
        cell(why)
    ))
}

/// Submits the command and says how the engine stands then.
pub async fn run<C>(cli: &mut Cli<'_>, command: C) -> Result<(), Failure>
where
    C: Request<Wire = Command, Answer = Outcome, Reply = EngineStatus>,
{
    cli.submit(command, |terminal, engine| match engine.held_since {
        Some(since) => {
            let why = engine.held_reason.as_deref();
            say_held(terminal, since, why.unwrap_or("no reason given"))
        }
        None => terminal.line("released: work goes on"),
    })
    .await
}
