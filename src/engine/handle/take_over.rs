//! A person writes as the bot while the agent of a conversation is held.

use std::time::Duration;

use crate::engine::caller::Caller;
use crate::engine::core::Engine;
use crate::engine::handle::messages;
use crate::engine::turn::finish;
use crate::engine::turn::input::Halt;
use crate::engine::views;
use crate::protocol::ids::{SessionId, TakeOverId};
use crate::protocol::problem::Problem;
use crate::protocol::session::Session;
use crate::store::commands::ingest_turn::IngestTurn;
use crate::store::commands::send_as_bot::SendBotMessage;
use crate::store::commands::take_over::{GiveBack, Take};
use crate::store::error::StoreError;
use crate::store::input::SessionChoice;

/// Longest wait for a turn to let go before somebody writes.
const LET_GO: Duration = Duration::from_secs(2);

/// What became of the session, told to whoever looks on.
async fn told(
    engine: &Engine,
    (session_id, channel): (SessionId, String),
) -> Result<Session, Problem> {
    views::announce_channel(engine, &channel).await;
    engine.session(session_id).await
}

/// The channel and the conversation of a session.
async fn place(engine: &Engine, id: SessionId) -> Result<(String, String), Problem> {
    let session = engine.session(id).await?;
    Ok((session.channel, session.conversation))
}

/// Another person's hold is a conflict, and so is one that ended.
fn conflict(error: StoreError) -> Problem {
    match error {
        StoreError::Fenced { what }
        | StoreError::Conflict { what }
        | StoreError::Rejected { what } => Problem::conflict("not yours now", what),
        other => Problem::from(other),
    }
}

/// Holds the agent of a conversation.
pub async fn take(
    engine: &Engine,
    caller: &Caller,
    session_id: SessionId,
    force: bool,
) -> Result<Session, Problem> {
    let place = place(engine, session_id).await?;
    // From here on a turn that is being taken up lets go by itself.
    let held_before = !engine.sessions.take_over(&place);
    let take = Take {
        session_id,
        id: TakeOverId::generate(),
        force,
        by: caller.reference(),
    };
    let taken = engine.store.write(take).await;
    if taken.is_err() && !held_before {
        engine.sessions.give_back(&place);
        engine.wake(session_id);
    }
    if let Some(running) = taken.map_err(conflict)? {
        engine.sessions.halt(running, Halt::TakenOver);
    }
    told(engine, (session_id, place.0)).await
}

/// Writes as the bot.
pub async fn say(
    engine: &Engine,
    caller: &Caller,
    session_id: SessionId,
    take_over_id: TakeOverId,
    text: String,
) -> Result<Session, Problem> {
    messages::check_text(&text)?;
    let (channel, conversation) = place(engine, session_id).await?;
    // What still lets go may be what is answered now.
    engine
        .sessions
        .wait_for_turns(Some(session_id), LET_GO)
        .await;
    let text = engine.redactor.redact(&text).into_owned();
    let session = session_id.to_string();
    let body = messages::body_digest(&["say", &session, &text]);
    let origin = messages::origin(caller, &channel, &conversation, body);
    let said = format!(
        "[{} writes here in place of the agent]",
        caller.actor.label()
    );
    let turn = IngestTurn {
        max_queue: 0,
        unlimited_queue: true,
        ..messages::turn(engine, origin, SessionChoice::Id(session_id), said)
    };
    engine
        .store
        .write(SendBotMessage {
            session_id,
            take_over_id,
            epoch: engine.store.epoch(),
            turn,
            parts: finish::parts_for(engine, &channel, &conversation, None, "", &text),
            text,
            by: caller.reference(),
        })
        .await
        .map_err(conflict)?;
    told(engine, (session_id, channel)).await
}

/// Lets the agent go on.
pub async fn give_back(
    engine: &Engine,
    caller: &Caller,
    session_id: SessionId,
    force: bool,
) -> Result<Session, Problem> {
    let place = place(engine, session_id).await?;
    let active = engine
        .store
        .write(GiveBack {
            session_id,
            force,
            by: caller.reference(),
        })
        .await
        .map_err(conflict)?;
    engine.sessions.give_back(&place);
    if let Some(active) = active {
        engine.wake(active);
    }
    told(engine, (active.unwrap_or(session_id), place.0)).await
}
