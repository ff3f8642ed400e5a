//! `leverframe sessions take-over|say|release`: a person writes as the bot.

use crate::cli::ask;
use crate::cli::exit::{Failure, usage};
use crate::cli::find::{self, submit};
use crate::cli::terminal::{Cli, Terminal, cell};
use crate::protocol::request::{GetSession, GiveBackSession, SendAsBot, TakeOverSession};
use crate::protocol::session::Session;

/// Says what was done with a session.
pub fn print(terminal: &mut Terminal<'_>, session: &Session, done: &str) -> Result<(), Failure> {
    terminal.show_line(session, || {
        format!(
            "{done}: {} of {} ({})",
            cell(&session.conversation),
            cell(&session.channel),
            session.id
        )
    })
}

/// Takes a conversation over.
pub async fn take(cli: &mut Cli<'_>, id: &str, force: bool) -> Result<(), Failure> {
    let session_id = find::session(cli.client, id).await?;
    let session = submit(cli.client, TakeOverSession { session_id, force }).await?;
    print(
        &mut cli.terminal,
        &session,
        "taken over; its agent waits until `leverframe sessions release`",
    )
}

/// Writes as the bot. `text` of `-` reads standard input.
pub async fn say(cli: &mut Cli<'_>, id: &str, words: &[String]) -> Result<(), Failure> {
    let session_id = find::session(cli.client, id).await?;
    let text = ask::text(&mut cli.terminal, words)?;
    let session = cli.client.call(GetSession { id: session_id }).await?;
    let Some(held) = session.taken_over else {
        return Err(usage!(
            "nobody has taken over this conversation; `leverframe sessions take-over {session_id}` does it"
        ));
    };
    // Whose it is, the daemon decides: a hold of somebody else is refused there.
    let session = submit(
        cli.client,
        SendAsBot {
            session_id,
            take_over_id: held.id,
            text,
        },
    )
    .await?;
    print(&mut cli.terminal, &session, "said as the bot")
}

/// Gives a conversation back.
pub async fn give_back(cli: &mut Cli<'_>, id: &str, force: bool) -> Result<(), Failure> {
    let session_id = find::session(cli.client, id).await?;
    let session = submit(cli.client, GiveBackSession { session_id, force }).await?;
    print(&mut cli.terminal, &session, "given back to its agent")
}
