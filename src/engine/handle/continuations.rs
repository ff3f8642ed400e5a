//! Cancel, resume and retry.

use crate::engine::caller::Caller;
use crate::engine::core::Engine;
use crate::engine::handle::messages;
use crate::engine::people;
use crate::engine::turn::input::Halt;
use crate::engine::turn::open_call;
use crate::protocol::agent_job::RUN_AGENT;
use crate::protocol::enums::{OutboxClass, Scope};
use crate::protocol::ids::ContinuationId;
use crate::protocol::problem::Problem;
use crate::protocol::session::Continuation;
use crate::store::commands::cancel::Cancel;
use crate::store::commands::ingest_turn::IngestTurn;
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
    let rows = engine.turn_rows(continuation_id).await?;
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
    engine.write(cancel).await?;
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
        .write(Resume {
            continuation_id,
            by: caller.reference(),
        })
        .await?;
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
        .read(move |reader| reader.continuation(continuation_id))
        .await?;
    if !ended.state.is_terminal() {
        return Err(Problem::not_offered(
            "not possible now",
            format!(
                "{continuation_id} is {}; only an ended continuation is retried",
                ended.state
            ),
        )
        .hint("resume an interrupted continuation, or cancel it first"));
    }
    let rows = engine.turn_rows(continuation_id).await?;
    if let Some(external) = rows.options.external() {
        let agent = external.agent.product();
        return Err(Problem::not_offered(
            "not possible now",
            format!("{agent} makes its own calls and waits for no other answer"),
        )
        .hint("ask the agent to try again"));
    }
    let given = rows.options.call.as_ref();
    let starts_agent = given.is_some_and(|call| call.tool == RUN_AGENT);
    if starts_agent && !people::has_scope(&caller.actor, Scope::Admin) {
        return Err(Problem::forbidden(
            "not allowed",
            format!(
                "{} lacks the scope `admin` that the start of an external agent needs",
                caller.actor.label()
            ),
        )
        .hint("use a credential with that scope"));
    }
    if rows.temporary && rows.conversation == start_model_test::CONVERSATION {
        return Err(Problem::not_offered(
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
    engine.channel(&rows.channel)?;
    let session = if rows.temporary {
        SessionChoice::Temporary
    } else {
        SessionChoice::Conversation
    };
    let turn = IngestTurn {
        model: ended.model,
        retry_of: Some(continuation_id),
        // Whoever asks again wants another answer.
        cache: TurnCache {
            fresh: true,
            private: rows.cache.private,
        },
        // Whoever asks again is there to answer; what it may do by itself stays.
        options: rows.options,
        bounds: TurnBounds {
            autonomy_ceiling: rows.bounds.autonomy_ceiling,
            ..TurnBounds::default()
        },
        ..messages::turn(engine, origin, session, rows.text)
    };
    let accepted = messages::submit(engine, turn).await?;
    continuation(engine, accepted.continuation_id).await
}

/// A continuation with its calls.
pub async fn continuation(engine: &Engine, id: ContinuationId) -> Result<Continuation, Problem> {
    engine.read(move |reader| reader.continuation(id)).await
}
