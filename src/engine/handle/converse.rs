//! Messages of chat clients. None reaches a session that is not its own.

use crate::engine::caller::Caller;
use crate::engine::core::Engine;
use crate::engine::handle::{messages, sessions};
use crate::protocol::chat::{may_talk, own_prefix, with_earlier};
use crate::protocol::command::Accepted;
use crate::protocol::problem::Problem;
use crate::protocol::request::Converse;
use crate::store::commands::ingest_turn::IngestTurn;
use crate::store::input::SessionChoice;

/// Longest key of a conversation, in characters.
const MAX_KEY: usize = 128;
/// Longest title that a session gets of its first message, in characters.
const TITLE_CHARS: usize = 60;

/// Submits a message to a conversation of the caller.
pub async fn converse(
    engine: &Engine,
    caller: &Caller,
    message: Converse,
) -> Result<Accepted, Problem> {
    let Converse {
        channel,
        session_id,
        conversation,
        text,
        mut earlier,
        once,
        budgets,
        attachments,
        options,
    } = message;
    let settings = engine.channel(&channel)?;
    if !may_talk(&caller.actor, settings.kind) {
        return Err(Problem::forbidden(
            "not this channel",
            format!(
                "{} does not talk to the agent of `{channel}` as a chat client",
                caller.actor.label()
            ),
        )
        .hint("`GET /v1/models` lists the channels of a token"));
    }
    if conversation.is_empty() || conversation.chars().count() > MAX_KEY {
        return Err(Problem::invalid(format!(
            "`conversation` must have 1 to {MAX_KEY} characters"
        )));
    }
    let conversation = own_prefix(&caller.actor) + &conversation;
    let (files, options) = messages::check_content(engine, &text, &budgets, attachments, options)?;
    let session = match session_id {
        Some(id) => {
            let session = engine.session(id).await?;
            if session.channel != channel || session.conversation != conversation {
                return Err(Problem::not_found("session", id));
            }
            SessionChoice::Id(id)
        }
        None if once => SessionChoice::Temporary,
        None => SessionChoice::Conversation,
    };
    messages::check_rate(engine, caller, &channel).await?;
    // Neither session nor earlier messages: a client that repeats its request sees another standing than the first time.
    let body = messages::content_digest(&["converse", &channel, &text], &files, &options)?;
    let origin = messages::origin(caller, &channel, &conversation, body);
    for message in &mut earlier {
        message.text = engine.redactor.redact(&message.text).into_owned();
    }
    let text = engine.redactor.redact(&text).into_owned();
    let title: String = text
        .lines()
        .next()
        .unwrap_or_default()
        .chars()
        .take(TITLE_CHARS)
        .collect();
    let turn = IngestTurn {
        limits: messages::limits(&engine.settings.budgets, &budgets),
        title: Some(sessions::clean_title(engine, &title)).filter(|title| !title.is_empty()),
        options,
        ..messages::turn(engine, origin, session, with_earlier(&text, &earlier))
    };
    messages::submit_with_files(engine, turn, files).await
}
