//! Expiry of approvals and of temporary autonomy, reminders, escalation and the change of day: one task that sleeps until
//! the next of them.

use std::time::Duration;

use crate::clock::Day;
use crate::engine::core::Engine;
use crate::engine::escalation;
use crate::engine::escalation::ntfy::Posts;
use crate::engine::reminders;
use crate::engine::views;
use crate::engine::views::announce_if_changed;
use crate::store::commands::expire_due::ExpireDue;

/// Longest sleep: the wall clock may jump, and deadlines are wall-clock times.
const LONGEST_SLEEP: Duration = Duration::from_secs(60);

/// Runs until the engine stops.
pub async fn run(engine: Engine) {
    let posts = Posts::default();
    loop {
        let engine = engine.current();
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
                "This request expired: nobody decided. Ask again if it is still needed.".to_owned();
            match engine.persist(ExpireDue { now, notice }).await {
                Ok(due) => {
                    for expired in due.approvals {
                        tracing::info!(approval = %expired.approval_id, "expired");
                        match expired.session_id {
                            Some(session) => engine.wake(session),
                            None => views::announce_bridged(&engine).await,
                        }
                    }
                }
                Err(error) => tracing::warn!(%error, "cannot expire approvals"),
            }
        }
        announce_if_changed(&engine).await;
        let waiting = reminders::waiting(&engine, now).await;
        let remind_at = reminders::look(&engine, &waiting, now).await;
        let escalate_at = escalation::look(&engine, &posts, waiting, now).await;
        let midnight = Day(Day::local(now).0.saturating_add(1)).begins();
        let next = [next, remind_at, escalate_at, midnight];
        let next = next.into_iter().flatten().min();
        let sleep = match next {
            // What could not be expired (its turn still runs) is looked at again soon, not at once.
            Some(next) => Duration::from_millis(next.millis_since(now).max(250)).min(LONGEST_SLEEP),
            None => LONGEST_SLEEP,
        };
        tokio::select! {
            () = tokio::time::sleep(sleep) => {}
            () = engine.scheduler.until_deadlines_change() => {}
            () = engine.shutdown.cancelled() => return,
        }
    }
}
