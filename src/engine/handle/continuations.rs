//! Cancel, resume and retry.

use crate::engine::caller::Caller;
use crate::engine::core::Engine;
use crate::engine::handle::messages;
use crate::engine::people;
use crate::engine::problem::from_store;
use crate::engine::turn::input::Halt;
use crate::engine::turn::open_call;
use crate::protocol::enums::OutboxClass;
use crate::protocol::ids::ContinuationId;
use crate::protocol::problem::{Problem, ProblemKind};
use crate::protocol::session::Continuation;
use crate::store::commands::cancel::Cancel;
use crate::store::commands::ingest_turn::{IngestTurn, TurnFiles};
use crate::store::commands::resume::Resume;
use crate::store::commands::start_model_test;
use crate::store::input::{NewNotice, SessionChoice, TurnBounds, TurnCache};

/// The cancellation of a continuation, as stored; the chat is told unless it asked for it itself.
pub async fn cancellation(
    engine: &Engine,
    caller: &Caller,
    continuation_id: ContinuationId,
    reason: Option<String>,
    tell_chat: bool,
) -> Result<Cancel, Problem> {
    let rows = engine
        .store
        .read(move |reader| reader.turn(continuation_id))
        .await
        .map_err(from_store)?;
    let notices = if tell_chat && engine.has_bridge(&rows.channel) {
        vec![NewNotice {
            channel: rows.channel,
            conversation: rows.conversation,
            class: OutboxClass::Notice,
            text: "The operator cancelled this request.".to_owned(),
            reply_to: rows.message_ref,
            continuation_id: Some(continuation_id),
        }]
    } else {
        Vec::new()
    };
    let reason = reason.map(|reason| engine.redactor.redact(&reason).chars().take(2000).collect());
    Ok(Cancel {
        continuation_id,
        by: caller.reference(),
        reason,
        notices,
        // Read last: what comes between this and the commit is shown and not kept.
        under_way: open_call::cut_short(engine, continuation_id),
    })
}

/// Ends a continuation and kills its tools.
pub async fn cancel(
    engine: &Engine,
    caller: &Caller,
    continuation_id: ContinuationId,
    reason: Option<String>,
) -> Result<Continuation, Problem> {
    let cancel = cancellation(engine, caller, continuation_id, reason, true).await?;
    engine.store.write(cancel).await.map_err(from_store)?;
    engine.sessions.halt(continuation_id, Halt::Cancelled);
    let ended = continuation(engine, continuation_id).await?;
    engine.wake(ended.session_id);
    Ok(ended)
}

/// Lets an interrupted continuation go on.
pub async fn resume(
    engine: &Engine,
    caller: &Caller,
    continuation_id: ContinuationId,
) -> Result<Continuation, Problem> {
    engine
        .store
        .write(Resume {
            continuation_id,
            by: caller.reference(),
        })
        .await
        .map_err(from_store)?;
    let resumed = continuation(engine, continuation_id).await?;
    engine.wake(resumed.session_id);
    Ok(resumed)
}

/// Starts the message of an ended continuation again.
pub async fn retry(
    engine: &Engine,
    caller: &Caller,
    continuation_id: ContinuationId,
) -> Result<Continuation, Problem> {
    let ended = engine
        .store
        .read(move |reader| reader.continuation(continuation_id))
        .await
        .map_err(from_store)?;
    if !ended.state.is_terminal() {
        return Err(Problem::new(
            ProblemKind::NotOffered,
            "not possible now",
            format!(
                "{continuation_id} is {}; only an ended continuation is retried",
                ended.state
            ),
        )
        .hint("resume an interrupted continuation, or cancel it first"));
    }
    let rows = engine
        .store
        .read(move |reader| reader.turn(continuation_id))
        .await
        .map_err(from_store)?;
    if let Some(external) = rows.options.external() {
        let agent = external.agent.product();
        return Err(Problem::new(
            ProblemKind::NotOffered,
            "not possible now",
            format!("{agent} makes its own calls and waits for no other answer"),
        )
        .hint("ask the agent to try again"));
    }
    if rows.temporary && rows.conversation == start_model_test::CONVERSATION {
        return Err(Problem::new(
            ProblemKind::NotOffered,
            "not possible now",
            format!("{continuation_id} was the test of a model, not a turn"),
        )
        .hint("test it again: `leverframe models test PROVIDER/MODEL`"));
    }
    let body = messages::body_digest(&["retry", &continuation_id.to_string()]);
    let mut origin = messages::origin(caller, &rows.channel, &rows.conversation, body);
    // The same person asks again, whoever pressed the key.
    origin.requester = rows.requester;
    origin.surface = rows.surface;
    origin.message_ref = rows.message_ref;
    let turn = IngestTurn {
        files: TurnFiles::default(),
        role: people::role_word(&engine.settings, &origin.requester).to_owned(),
        said_at: messages::said_at(engine, &origin.channel),
        origin,
        session: if rows.temporary {
            SessionChoice::Temporary
        } else {
            SessionChoice::Conversation
        },
        text: rows.text,
        model: ended.model,
        limits: messages::limits(
            &engine.settings.budgets,
            &crate::protocol::command::BudgetRequest::default(),
        ),
        max_queue: engine.channel(&rows.channel)?.max_queue,
        unlimited_queue: engine.is_held(),
        retry_of: Some(continuation_id),
        queue_full_notice: None,
        title: None,
        // Whoever asks again wants another answer.
        cache: TurnCache {
            fresh: true,
            private: rows.cache.private,
        },
        // Whoever asks again is there to answer; what it may do by itself stays.
        options: rows.options,
        bounds: TurnBounds {
            unattended: None,
            autonomy_ceiling: rows.bounds.autonomy_ceiling,
            alone: false,
        },
    };
    let accepted = messages::submit(engine, turn).await?;
    continuation(engine, accepted.continuation_id).await
}

/// A continuation with its calls.
pub async fn continuation(engine: &Engine, id: ContinuationId) -> Result<Continuation, Problem> {
    engine
        .store
        .read(move |reader| reader.continuation(id))
        .await
        .map_err(from_store)
}
