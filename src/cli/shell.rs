//! `leverframe shell`: a person runs commands in the shell of a session, or code in its Python.

use crate::cli::exit::Failure;
use crate::cli::find::{self, submit};
use crate::cli::terminal::Cli;
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

/// Runs the command of a request, or every line of the input until it ends where the command is empty. Fails when the
/// command failed, or the last line of a script.
pub async fn run(cli: &mut Cli<'_>, id: &str, request: ShellRequest) -> Result<(), Failure> {
    let session_id = find::session(cli.client, id).await?;
    if !request.command.is_empty() {
        if one(cli, session_id, request).await? {
            return Err(Failure::ended("the command failed"));
        }
        return Ok(());
    }
    let mut failed = false;
    while let Some(line) = cli.terminal.ask_if_open(prompt(request.kind))? {
        match line.trim() {
            "" => {}
            "exit" | "quit" => break,
            command => {
                let request = ShellRequest {
                    command: command.to_owned(),
                    ..request.clone()
                };
                failed = one(cli, session_id, request).await?;
            }
        }
    }
    // A person saw it fail.
    if failed && !cli.terminal.is_attended() {
        return Err(Failure::ended("the last command failed"));
    }
    Ok(())
}

/// Runs one command; whether it failed.
async fn one(
    cli: &mut Cli<'_>,
    session_id: SessionId,
    request: ShellRequest,
) -> Result<bool, Failure> {
    let request = RunInShell {
        session_id,
        request,
    };
    let run = submit(cli.client, request).await?;
    let content = || reveal(&run.content).trim_end().to_owned();
    cli.terminal.show_line(&run, content)?;
    Ok(run.is_error)
}

/// Ends the shell of a session, or its Python.
pub async fn end(cli: &mut Cli<'_>, id: &str, kind: InterpreterKind) -> Result<(), Failure> {
    let session_id = find::session(cli.client, id).await?;
    let ended = submit(cli.client, EndInterpreter { session_id, kind }).await?;
    cli.terminal.show_line(&ended, || {
        format!(
            "{} of {session_id} ended, after {} commands",
            kind.noun(),
            ended.commands
        )
    })
}
