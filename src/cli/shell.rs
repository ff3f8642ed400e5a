//! `leverframe shell`: a person runs commands in the shell of a session, or code in its Python.

use crate::cli::exit::Failure;
use crate::cli::find::{self, submit};
use crate::cli::terminal::{Format, Terminal};
use crate::client::console_client::ConsoleClient;
use crate::protocol::enums::InterpreterKind;
use crate::protocol::ids::SessionId;
use crate::protocol::request::{EndInterpreter, RunInShell};
use crate::protocol::tool::ShellRequest;
use crate::text::untrusted::reveal;

/// What is asked for before each command.
const fn prompt(kind: InterpreterKind) -> &'static str {
    match kind {
        InterpreterKind::Bash => "shell> ",
        InterpreterKind::Python => "python> ",
    }
}

/// Runs the command of a request, or every line of the input until it ends where the command is empty.
pub async fn run(
    client: &dyn ConsoleClient,
    terminal: &mut Terminal<'_>,
    format: Format,
    id: &str,
    request: ShellRequest,
) -> Result<(), Failure> {
    let session_id = find::session(client, id).await?;
    if !request.command.is_empty() {
        if one(client, terminal, format, session_id, request).await? {
            return Err(Failure::Ended("the command failed".to_owned()));
        }
        return Ok(());
    }
    while let Some(line) = terminal.ask_if_open(prompt(request.kind))? {
        match line.trim() {
            "" => {}
            "exit" | "quit" => return Ok(()),
            command => {
                let request = ShellRequest {
                    command: command.to_owned(),
                    ..request.clone()
                };
                one(client, terminal, format, session_id, request).await?;
            }
        }
    }
    Ok(())
}

/// Runs one command; whether it failed.
async fn one(
    client: &dyn ConsoleClient,
    terminal: &mut Terminal<'_>,
    format: Format,
    session_id: SessionId,
    request: ShellRequest,
) -> Result<bool, Failure> {
    let request = RunInShell {
        session_id,
        request,
    };
    let run = submit(client, request).await?;
    match format {
        Format::Json => terminal.json(&run)?,
        Format::Human => terminal.line(reveal(&run.content).trim_end())?,
    }
    Ok(run.is_error)
}

/// Ends the shell of a session, or its Python.
pub async fn end(
    client: &dyn ConsoleClient,
    terminal: &mut Terminal<'_>,
    format: Format,
    id: &str,
    kind: InterpreterKind,
) -> Result<(), Failure> {
    let session_id = find::session(client, id).await?;
    let ended = submit(client, EndInterpreter { session_id, kind }).await?;
    match format {
        Format::Json => terminal.json(&ended),
        Format::Human => terminal.line(&format!(
            "{} of {session_id} ended, after {} commands",
            kind.noun(),
            ended.commands
        )),
    }
}
