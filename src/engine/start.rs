//! What happens at start: channels are made known, every task of the engine begins, what may go on by itself goes on.
//!
//! This file knows every part of the engine, and no part of the engine knows it.
//!
//! The store has classified everything in flight already; nothing here repeats an effect.

use crate::engine::backups;
use crate::engine::core::Engine;
use crate::engine::datasets;
use crate::engine::deadlines;
use crate::engine::embeddings;
use crate::engine::emergency::ActiveStop;
use crate::engine::erase;
use crate::engine::file_changes;
use crate::engine::handle::{agent_jobs, channels, gate, rehearsals};
use crate::engine::hooks::observe;
use crate::engine::hygiene;
use crate::engine::inbound_files;
use crate::engine::interpreters;
use crate::engine::leftovers;
use crate::engine::mcp;
use crate::engine::progress;
use crate::engine::reconcile;
use crate::engine::routine::begin_due;
use crate::engine::skills;
use crate::engine::storage;
use crate::engine::sweeper;
use crate::engine::tokens;
use crate::engine::turn::runner;
use crate::protocol::command::Actor;
use crate::protocol::enums::{Autonomy, Surface};
use crate::protocol::ids::ContinuationId;
use crate::protocol::problem::Problem;
use crate::protocol::request::{Command, Envelope, ResumeContinuation};
use crate::store::commands::recover::Recovery;
use crate::store::commands::set_emergency_stop::SetEmergencyStop;
use crate::store::commands::tell_interrupted::TellInterrupted;
use crate::store::input::ActorRef;

/// Oldest interrupted continuation that resumes by itself.
const RESUME_WITHIN_MS: u64 = 3600 * 1000;
/// Times a continuation is taken up before it waits for a person.
const RESUME_ATTEMPTS: u32 = 3;
/// Crashes within ten minutes that make the engine start held.
const CRASHES_THAT_HOLD: u32 = 3;

/// What a chat is told whose request waits since a crash.
const INTERRUPTED: &str = "This request was interrupted by a restart. The operator decides whether it goes on; /continue goes on with it, too.";

/// Starts everything that is pending, under the policy of now.
pub async fn begin(engine: &Engine, recovery: &Recovery) -> Result<(), Problem> {
    // Before anything is committed that observers would want to hear of.
    observe::begin(engine);
    engine.spawn(runner::run(engine.clone()));
    channels::ensure(engine, &engine.settings).await?;
    // Before anything runs in those workspaces.
    leftovers::look_again(engine, recovery.quarantine).await?;
    rehearsals::remove_left(engine).await;
    skills::load(engine).await?;
    tokens::load(engine).await?;
    mcp::load(engine).await?;
    interpreters::remove_left(engine);
    // Of a restored copy, another process may be in the middle of them.
    if !recovery.quarantine {
        datasets::recover(engine).await;
        file_changes::recover(engine).await;
    }
    if recovery.crashes_in_10_min >= CRASHES_THAT_HOLD && !engine.is_held() {
        let reason = format!(
            "engine: {} crashes within ten minutes",
            recovery.crashes_in_10_min
        );
        tracing::error!(%reason, "starting in emergency stop: find the cause, then run `leverframe release` (or press ctrl-x r)");
        engine.emergency.hold(ActiveStop {
            since: engine.clock.now(),
            reason: reason.clone(),
        });
        let stop = SetEmergencyStop {
            held: Some(reason),
            by: ActorRef::engine(),
            drop_full: true,
        };
        engine.write(stop).await?;
    }
    if recovery.quarantine {
        engine.emergency.set_quarantine(true);
        tracing::error!(
            "the database is a restored copy: in quarantine, the engine runs and sends nothing"
        );
        engine.emergency.hold(ActiveStop {
            since: engine.clock.now(),
            reason: "engine: the database is a restored copy (quarantine)".to_owned(),
        });
    }
    engine.spawn(inbound_files::transcribe(engine.clone()));
    engine.spawn(storage::watch(engine.clone()));
    engine.spawn(interpreters::end_with_sessions(engine.clone()));
    engine.spawn(sweeper::run(engine.clone()));
    engine.spawn(hygiene::run(engine.clone()));
    engine.spawn(backups::run(engine.clone()));
    engine.spawn(erase::resume(engine.clone()));
    // Deadlines stand still during a quarantine: nothing can be answered, so nothing may run out.
    engine.spawn(once_released(
        engine.clone(),
        deadlines::run(engine.clone()),
    ));
    engine.spawn(once_released(
        engine.clone(),
        begin_due::run(engine.clone()),
    ));
    engine.spawn(once_released(engine.clone(), progress::run(engine.clone())));
    engine.spawn(once_released(engine.clone(), mcp::run(engine.clone())));
    engine.spawn(once_released(
        engine.clone(),
        embeddings::run(engine.clone()),
    ));
    if recovery.quarantine {
        return Ok(());
    }
    for id in &recovery.interrupted {
        if let Err(problem) = resume_by_policy(engine, *id).await {
            tracing::warn!(continuation = %id, %problem, "cannot resume a continuation; it stays interrupted");
        }
    }
    gate::recover(engine).await?;
    agent_jobs::recover(engine).await?;
    tell_interrupted(engine).await?;
    if !engine.is_held() {
        reconcile::begin(engine);
    }
    for session in engine.read(|reader| reader.sessions_with_pending()).await? {
        engine.wake(session);
    }
    Ok(())
}

/// Runs a task from the end of a quarantine on; at once where there is none.
async fn once_released(engine: Engine, task: impl Future<Output = ()>) {
    let mut quarantine = engine.emergency.quarantine_changes();
    tokio::select! {
        () = engine.shutdown.cancelled() => return,
        released = quarantine.wait_for(|quarantined| !quarantined) => if released.is_err() { return },
    }
    task.await;
}

/// Tells the chats whose requests wait for somebody since a crash. Those of an earlier start may not have been told.
async fn tell_interrupted(engine: &Engine) -> Result<(), Problem> {
    let interrupted = engine.read(|reader| reader.interrupted()).await?;
    let continuations: Vec<ContinuationId> = interrupted
        .into_iter()
        .filter(|(_, channel)| engine.has_bridge(channel))
        .map(|(id, _)| id)
        .collect();
    if continuations.is_empty() {
        return Ok(());
    }
    let told = TellInterrupted {
        continuations,
        text: INTERRUPTED.to_owned(),
    };
    engine.write(told).await
}

/// `full`: resumes when young and not tried too often. Every other level waits for a person.
async fn resume_by_policy(engine: &Engine, id: ContinuationId) -> Result<(), Problem> {
    let (continuation, policy) = engine
        .read(move |reader| {
            let continuation = reader.continuation(id)?;
            let policy = reader.policy(&continuation.channel)?;
            Ok((continuation, policy))
        })
        .await?;
    let young = engine.clock.now().millis_since(continuation.created_at) <= RESUME_WITHIN_MS;
    if policy.autonomy != Autonomy::Full || !young || continuation.attempt >= RESUME_ATTEMPTS {
        return Ok(());
    }
    let envelope = Envelope {
        command: Command::ResumeContinuation(ResumeContinuation {
            continuation_id: id,
        }),
        actor: Actor::Engine,
        surface: Surface::Engine,
        idempotency_key: None,
        trace: None,
    };
    engine.handle(envelope).await.map(|_| ())
}
