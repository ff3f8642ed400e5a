//! Emergency stop: everything lets go first, the record follows; release is explicit.

use std::collections::HashSet;
use std::time::Duration;

use crate::engine::caller::Caller;
use crate::engine::core::Engine;
use crate::engine::emergency::ActiveStop;
use crate::engine::reconcile;
use crate::engine::turn::input::Halt;
use crate::engine::views;
use crate::engine::views::engine_status;
use crate::protocol::command::Waiting;
use crate::protocol::problem::Problem;
use crate::protocol::snapshot::EngineStatus;
use crate::protocol::uncertain::{ConversationChoice, Uncertain};
use crate::store::commands::drop_waiting::DropWaiting;
use crate::store::commands::release_quarantine::ReleaseQuarantine;
use crate::store::commands::set_emergency_stop::SetEmergencyStop;
use crate::store::error::StoreError;
use crate::store::queries::uncertain::Recovered;

/// Longest wait for tools to die before the stop is reported.
const KILL_DEADLINE: Duration = Duration::from_secs(2);

/// Engages the stop. Nothing starts from the first line on, even if the record cannot be written.
pub async fn stop(
    engine: &Engine,
    caller: &Caller,
    reason: Option<String>,
) -> Result<EngineStatus, Problem> {
    let reason = match reason.map(|reason| {
        engine
            .redactor
            .redact(&reason)
            .chars()
            .take(200)
            .collect::<String>()
    }) {
        Some(reason) if !reason.trim().is_empty() => format!("{}: {reason}", caller.actor.label()),
        Some(_) | None => caller.actor.label(),
    };
    let stop = ActiveStop {
        since: engine.clock.now(),
        reason: reason.clone(),
    };
    let_go(engine, stop.clone());
    let record = SetEmergencyStop {
        held: Some(reason),
        by: caller.reference(),
        drop_full: true,
    };
    let recorded = {
        let _recording = engine.emergency.recording().await;
        // A release that was recorded just now may have ended it; this stop comes after that one.
        if !engine.is_held() {
            let_go(engine, stop);
        }
        let recorded = engine.store.write(record.clone()).await;
        if matches!(recorded, Err(StoreError::Full(_))) {
            engine.emergency.record_later(record);
        }
        recorded
    };
    engine.sessions.wait_for_turns(None, KILL_DEADLINE).await;
    recorded.map_err(|error| {
        let full = matches!(error, StoreError::Full(_));
        let problem = Problem::from(error);
        if full {
            problem
                .hint("the stop is in force all the same; it is recorded as soon as there is space")
        } else {
            problem
        }
    })?;
    announce(engine).await
}

/// Nothing starts any more, and what runs lets go.
fn let_go(engine: &Engine, stop: ActiveStop) {
    engine.emergency.hold(stop);
    engine.sessions.halt_all(Halt::Held);
    engine.end_interpreters(None, "an emergency stop ended it");
}

/// Releases the stop (and a quarantine) and says what happens to what waited: all of it in one transaction.
pub async fn release(
    engine: &Engine,
    caller: &Caller,
    waiting: Waiting,
    conversations: Vec<ConversationChoice>,
) -> Result<EngineStatus, Problem> {
    let mut named = HashSet::new();
    if let Some(twice) = conversations
        .iter()
        .find(|choice| !named.insert(choice.session_id))
    {
        return Err(Problem::invalid(format!(
            "`conversations` names {} twice",
            twice.session_id
        )));
    }
    let recording = engine.emergency.recording().await;
    let seen = engine.emergency.presses();
    let quarantined = engine.emergency.is_quarantined();
    let drop = DropWaiting {
        waiting,
        conversations,
        by: caller.reference(),
        notice: "The operator stopped this request; please ask again if it is still needed."
            .to_owned(),
    };
    let released = SetEmergencyStop {
        held: None,
        by: caller.reference(),
        // Nobody gave a copy the permission to run alone; the one of its original may have ended since.
        drop_full: quarantined,
    };
    let lifted = ReleaseQuarantine {
        by: caller.reference(),
    };
    engine.write((drop, (released, lifted))).await?;
    let is_released = engine.emergency.release(seen);
    engine.emergency.set_quarantine(false);
    std::mem::drop(recording);
    if !is_released {
        return Err(Problem::conflict(
            "not released",
            "another emergency stop was pressed meanwhile, and it is in force",
        )
        .hint("find out why, then release that one"));
    }
    reconcile::begin(engine);
    for session in engine.read(|reader| reader.sessions_with_pending()).await? {
        engine.wake(session);
    }
    announce(engine).await
}

/// What waits and what nobody knows.
pub async fn uncertain(engine: &Engine) -> Result<Uncertain, Problem> {
    let now = engine.clock.now();
    let mut uncertain = engine
        .read(move |reader| reader.uncertain(now, Recovered::Yes))
        .await?;
    uncertain.held_since = engine.emergency.held().map(|held| held.since);
    Ok(uncertain)
}

async fn announce(engine: &Engine) -> Result<EngineStatus, Problem> {
    let status = engine_status(engine).await?;
    views::announce_engine(engine).await;
    views::announce_bridged(engine).await;
    Ok(status)
}
