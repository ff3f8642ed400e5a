//! Expiry of approvals and of temporary autonomy: one task that sleeps until the next deadline.

use std::time::Duration;

use crate::engine::core::Engine;
use crate::engine::query::engine_status;
use crate::protocol::event::{Event, EventBody};
use crate::store::commands::expire_due::ExpireDue;

/// Longest sleep: the wall clock may jump, and deadlines are wall-clock times.
const LONGEST_SLEEP: Duration = Duration::from_secs(60);

/// Runs until the engine stops.
pub async fn run(engine: Engine) {
    let mut problem = engine.store.problem();
    loop {
        let now = engine.clock.now();
        let next = engine
            .store
            .read(|reader| reader.next_expiry())
            .await
            .unwrap_or_else(|error| {
                tracing::warn!(%error, "cannot read deadlines");
                None
            });
        if next.is_some_and(|next| next <= now) {
            let notice =
                "Nobody decided in time, so this request ended. Ask again if it is still needed."
                    .to_owned();
            match engine.store.write(ExpireDue { now, notice }).await {
                Ok(due) => {
                    for expired in due.approvals {
                        tracing::info!(approval = %expired.approval_id, "expired");
                        if let Some(session) = expired.session_id {
                            engine.wake(session);
                        }
                    }
                }
                Err(error) => tracing::warn!(%error, "cannot expire what is due"),
            }
        }
        problem = announce_problem(&engine, problem).await;
        let sleep = match next {
            // What could not be expired (its turn still runs) is looked at again soon, not at once.
            Some(next) => Duration::from_millis(next.millis_since(now).max(250)).min(LONGEST_SLEEP),
            None => LONGEST_SLEEP,
        };
        tokio::select! {
            () = tokio::time::sleep(sleep) => {}
            () = engine.deadlines.notified() => {}
            () = engine.shutdown.cancelled() => return,
        }
    }
}

/// Tells consoles when the store starts or stops having a problem.
async fn announce_problem(engine: &Engine, before: Option<String>) -> Option<String> {
    let now = engine.store.problem();
    if now != before
        && let Ok(status) = engine_status(engine).await
    {
        engine.store.publish(Event {
            seq: None,
            at: engine.clock.now(),
            session_id: None,
            continuation_id: None,
            body: EventBody::EngineState {
                engine: Box::new(status),
            },
        });
    }
    now
}
