//! Begins routines when they are due: one task that sleeps until the next of them, and for ever where there is none.
//!
//! Every due time is settled once, by a run or by a row that says why there was none; that and the step to the next
//! due time are one transaction, so that a crash at any point repeats nothing and loses nothing. What was due more
//! than a minute ago while nothing could begin (the process was down, held, quarantined or draining, or the clock was
//! put forward) is missed, however many times it was.

use std::time::Duration;

use crate::clock::Timestamp;
use crate::engine::core::Engine;
use crate::engine::handle::routines::{due_after, turn};
use crate::engine::views::announce_channel;
use crate::protocol::enums::{Disposition, MissedRuns, RoutineRunState};
use crate::protocol::routine::Routine;
use crate::store::commands::begin_routine::{BeginRoutine, Begun, Occasion, RunAction};
use crate::store::error::StoreError;

/// Longest sleep while something is to come: the wall clock may jump, and due times are wall-clock times.
const LONGEST_SLEEP: Duration = Duration::from_secs(30);
/// What begins later than this after its time is missed. Longer than the sleep above.
const LATE_MS: u64 = 60_000;

/// Runs until the engine stops.
pub async fn run(engine: Engine) {
    let mut held = engine.emergency.changes();
    let mut draining = engine.sessions.draining_changes();
    loop {
        held.mark_unchanged();
        draining.mark_unchanged();
        let next = begin_what_is_due(&engine.current()).await;
        loop {
            let sleep = next.map(|next| {
                Duration::from_millis(next.millis_since(engine.clock.now())).min(LONGEST_SLEEP)
            });
            let asleep = async {
                match sleep {
                    // What is due and cannot begin is looked at again when something changes.
                    Some(Duration::ZERO) => tokio::time::sleep(LONGEST_SLEEP).await,
                    Some(sleep) => tokio::time::sleep(sleep).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = asleep => if next.is_none_or(|next| next <= engine.clock.now()) { break },
                () = engine.scheduler.until_routines_change() => break,
                Ok(()) = held.changed() => break,
                Ok(()) = draining.changed() => break,
                () = engine.shutdown.cancelled() => return,
            }
        }
    }
}

/// Begins what is due, and answers when the next one is; what cannot begin now stays due.
async fn begin_what_is_due(engine: &Engine) -> Option<Timestamp> {
    loop {
        let routines = match engine
            .store
            .read_here(|reader| reader.next_routines())
            .await
        {
            Ok(routines) => routines,
            Err(error) => {
                tracing::warn!(%error, "cannot read routines");
                return Some(engine.clock.now());
            }
        };
        let first = routines
            .first()
            .and_then(|first| first.begin_at.map(|begin| (first.name.clone(), begin)));
        let next = first.as_ref().map(|(_, begin)| *begin);
        if engine.scheduler.set_next_routine(first) {
            // Consoles see what is next with the built-in channel of routines.
            announce_channel(engine, "routine").await;
        }
        let now = engine.clock.now();
        let due: Vec<Routine> = routines
            .into_iter()
            .filter(|routine| routine.begin_at.is_some_and(|begin| begin <= now))
            .collect();
        if due.is_empty() {
            return next;
        }
        for routine in due {
            if !engine.may_begin() || !engine.writable().await {
                return next;
            }
            let name = routine.name.clone();
            if let Err(error) = begin(engine, routine).await {
                tracing::error!(routine = %name, %error, "cannot start a routine");
                return next;
            }
        }
    }
}

/// Settles the due time of one routine.
async fn begin(engine: &Engine, routine: Routine) -> Result<(), StoreError> {
    let (Some(due_at), Some(begin_at)) = (routine.due_at, routine.begin_at) else {
        return Ok(());
    };
    let now = engine.clock.now();
    let missed = now.millis_since(begin_at) > LATE_MS;
    // What was due within the last minute is not missed yet; one run that makes up for all makes up for that too.
    let settled_to = match (missed, routine.missed) {
        (true, MissedRuns::RunOnce) => now,
        (true, MissedRuns::Skip) | (false, MissedRuns::Skip | MissedRuns::RunOnce) => {
            now.plus_millis(-(LATE_MS as i64))
        }
    };
    let mut note = None;
    let (next, deed) = match due_after(&routine, due_at, settled_to) {
        // A schedule that was good cannot turn bad, a time zone can: with the system's database.
        Err(problem) => {
            let detail = format!(
                "{}; it is not due again until somebody changes it",
                problem.detail
            );
            let state = RoutineRunState::Failed;
            (None, RunAction::Not { state, detail })
        }
        Ok((next, count)) => {
            let what = missed_text(count);
            let deed = match (missed, routine.missed) {
                (true, MissedRuns::Skip) => RunAction::Not {
                    state: RoutineRunState::Skipped,
                    detail: format!("{what} missed since {due_at}: nothing could begin then"),
                },
                (true, MissedRuns::RunOnce) => {
                    note = Some(format!("makes up for {what} missed since {due_at}"));
                    said(engine, &routine, due_at)
                }
                (false, MissedRuns::Skip | MissedRuns::RunOnce) => said(engine, &routine, due_at),
            };
            (next, deed)
        }
    };
    let begin = BeginRoutine {
        id: routine.id,
        occasion: Occasion::Due { due_at, next },
        deed,
        note,
    };
    if let Begun::Run(run, ingested) = engine.persist(begin).await? {
        tracing::info!(
            routine = %routine.name,
            state = %run.state,
            detail = run.detail.as_deref().unwrap_or_default(),
            "routine was due"
        );
        if let Some(ingested) = ingested
            && ingested.disposition == Disposition::Turn
            && let Some(session) = ingested.session_id
        {
            engine.wake(session);
        }
    }
    Ok(())
}

fn missed_text(count: u32) -> String {
    match count {
        0 | 1 => "1 run".to_owned(),
        1000.. => "1000 runs or more".to_owned(),
        _ => format!("{count} runs"),
    }
}

/// The message of a run that was due then, or why there is none.
fn said(engine: &Engine, routine: &Routine, due_at: Timestamp) -> RunAction {
    let key = format!("due:{}", due_at.as_millis());
    match turn(engine, routine, routine.id.to_string(), Some(key)) {
        Ok(turn) => RunAction::Turn(Box::new(turn)),
        Err(problem) => RunAction::Not {
            state: RoutineRunState::Failed,
            detail: problem.detail,
        },
    }
}
