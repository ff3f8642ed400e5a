//! `leverframe sessions take-over|say|release`: a person writes as the bot.

use crate::cli::ask;
use crate::cli::exit::Failure;
use crate::cli::find::{self, submit};
use crate::cli::terminal::{Format, Terminal, cell};
use crate::client::console_client::ConsoleClient;
use crate::protocol::request::{GetSession, GiveBackSession, SendAsBot, TakeOverSession};
use crate::protocol::session::Session;

/// Says what was done with a session.
pub fn print(
    terminal: &mut Terminal<'_>,
    format: Format,
    session: &Session,
    done: &str,
) -> Result<(), Failure> {
    match format {
        Format::Json => terminal.json(session),
        Format::Human => terminal.line(&format!(
            "{done}: {} of {} ({})",
            cell(&session.conversation),
            cell(&session.channel),
            session.id
        )),
    }
}

/// Takes a conversation over.
pub async fn take(
    client: &dyn ConsoleClient,
    terminal: &mut Terminal<'_>,
    format: Format,
    id: &str,
    force: bool,
) -> Result<(), Failure> {
    let session_id = find::session(client, id).await?;
    let session = submit(client, TakeOverSession { session_id, force }).await?;
    print(
        terminal,
        format,
        &session,
        "taken over; its agent waits until `leverframe sessions release`",
    )
}

/// Writes as the bot. `text` of `-` reads standard input.
pub async fn say(
    client: &dyn ConsoleClient,
    terminal: &mut Terminal<'_>,
    format: Format,
    id: &str,
    words: &[String],
) -> Result<(), Failure> {
    let session_id = find::session(client, id).await?;
    let text = ask::text(terminal, words)?;
    let session = client.call(GetSession { id: session_id }).await?;
    let Some(held) = session.taken_over else {
        return Err(Failure::Usage(format!(
            "nobody took this conversation over; `leverframe sessions take-over {session_id}` does"
        )));
    };
    // Whose it is, the daemon decides: a hold of somebody else is refused there.
    let session = submit(
        client,
        SendAsBot {
            session_id,
            take_over_id: held.id,
            text,
        },
    )
    .await?;
    print(terminal, format, &session, "said as the bot")
}

/// Gives a conversation back.
pub async fn give_back(
    client: &dyn ConsoleClient,
    terminal: &mut Terminal<'_>,
    format: Format,
    id: &str,
    force: bool,
) -> Result<(), Failure> {
    let session_id = find::session(client, id).await?;
    let session = submit(client, GiveBackSession { session_id, force }).await?;
    print(terminal, format, &session, "given back to its agent")
}
