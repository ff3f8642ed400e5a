//! Gives each session that has something pending a task, which drives its turns one after the other and ends.

use crate::engine::core::Engine;
use crate::engine::turn::driver;
use crate::engine::turn::input::Halt;
use crate::protocol::ids::{ContinuationId, SessionId};
use crate::store::commands::claim::Claim;
use crate::store::error::StoreError;

/// Runs until the engine stops.
pub async fn run(engine: Engine) {
    loop {
        let woken = tokio::select! {
            () = engine.shutdown.cancelled() => return,
            woken = engine.sessions.next_woken() => woken,
        };
        for session in woken {
            let own = engine.clone();
            engine.spawn(async move { run_session(&own, session).await });
        }
    }
}

/// What a try to take up a turn came to.
enum ClaimOutcome {
    Turn(ContinuationId),
    Nothing,
    /// The disk is full.
    NotNow,
}

async fn claim(engine: &Engine, session_id: SessionId) -> ClaimOutcome {
    if !engine.may_begin() {
        return ClaimOutcome::Nothing;
    }
    let claim = Claim {
        session_id,
        epoch: engine.store.epoch(),
        floods: engine.floods.clone(),
        except: engine.gate.held(),
    };
    match engine.store.write(claim).await {
        Ok(Some(continuation)) => ClaimOutcome::Turn(continuation),
        Ok(None) => ClaimOutcome::Nothing,
        Err(StoreError::Full(_)) => ClaimOutcome::NotNow,
        Err(error) => {
            tracing::error!(session = %session_id, %error, "cannot claim the next turn of a session");
            ClaimOutcome::Nothing
        }
    }
}

/// Runs a session's pending continuations.
async fn run_session(engine: &Engine, session: SessionId) {
    let sessions = &engine.sessions;
    loop {
        if !engine.writable().await {
            sessions.leave(session, false);
            return;
        }
        let Some(permit) = sessions.permit(session).await else {
            return;
        };
        // A reload may have come while it waited.
        let engine = &engine.current();
        sessions.set_claiming(session, true);
        let continuation = match claim(engine, session).await {
            ClaimOutcome::Turn(continuation) => continuation,
            ClaimOutcome::NotNow => {
                drop(permit);
                sessions.set_claiming(session, false);
                engine.writable_again().await;
                continue;
            }
            ClaimOutcome::Nothing => {
                drop(permit);
                if sessions.leave(session, engine.may_begin()) {
                    continue;
                }
                return;
            }
        };
        let halted = sessions.begin_turn(session, continuation);
        // Whatever halted everybody before the line above has not told this turn.
        if engine.shutdown.is_cancelled() {
            sessions.halt(continuation, Halt::ShuttingDown);
        } else if engine.is_held() {
            sessions.halt(continuation, Halt::Held);
        }
        driver::drive(engine, session, continuation, halted).await;
        engine.open_calls.forget(continuation);
        sessions.end_turn(session);
        drop(permit);
    }
}
