//! Hygiene of the memory: when it runs, in which order, at which pace. What goes is decided in `store::hygiene`, by the
//! same function for the preview and for the run.

use std::time::{Duration, Instant};

use crate::clock::backoff::own_share;
use crate::clock::{Day, Timestamp};
use crate::engine::core::Engine;
use crate::engine::memory_cleanup::{self, Chunk, carry_out, paced, plan};
use crate::engine::retention::refuse_quarantined;
use crate::engine::views::announce_if_changed;
use crate::protocol::enums::{HygieneState, Surface};
use crate::protocol::hygiene::{Growth, HygieneExcess, HygieneReport, HygieneRun};
use crate::protocol::ids::HygieneRunId;
use crate::protocol::problem::{Problem, ProblemKind};
use crate::protocol::snapshot::PageRequest;
use crate::store::commands::run_hygiene::{
    BeginHygiene, CutHygieneShort, EndHygiene, HygieneEnd, NoteGrowth,
};
use crate::store::commands::undo_hygiene::{BeginUndo, EndUndo, RestoreMemories};
use crate::store::error::StoreError;
use crate::store::files;
use crate::store::input::ActorRef;

pub mod state;

/// Milliseconds between two runs.
pub const EVERY_MS: i64 = 12 * 3600 * 1000;
/// And up to this many more, so that daemons that were started together do not run together.
const JITTER_MS: u32 = 30 * 60 * 1000;
/// Longest sleep: the wall clock may jump, and a day may end.
const LONGEST_SLEEP: Duration = Duration::from_secs(600);
/// Runs until the engine stops.
pub async fn run(engine: Engine) {
    let mut held = engine.emergency.changes();
    let mut quarantine = engine.emergency.quarantine_changes();
    let mut taken_up = false;
    loop {
        let engine = engine.current();
        let free = !*quarantine.borrow_and_update() && engine.store.problem().is_none();
        // Marks and undos were a person's word already; they wait for no release of a stop.
        if free && !taken_up {
            match take_up(&engine).await {
                Ok(()) => taken_up = true,
                Err(error) => tracing::warn!(%error, "cannot finish an interrupted hygiene run"),
            }
        }
        if free && let Err(error) = note_day(&engine).await {
            tracing::warn!(%error, "cannot record the sizes of the day");
        }
        let is_held = held.borrow_and_update().is_some();
        let mut sleep = LONGEST_SLEEP;
        match next_at(&engine).await {
            Ok(Some(at)) if free && !is_held && engine.may_begin() => {
                let due_in = at.millis_since(engine.clock.now());
                if due_in > 0 {
                    sleep = sleep.min(Duration::from_millis(due_in));
                } else if let Err(problem) = run_now(&engine, ActorRef::engine(), false).await {
                    // Looked at again later.
                    tracing::warn!(%problem, "memory hygiene failed");
                }
            }
            Ok(_) => {}
            Err(problem) => tracing::warn!(%problem, "cannot read when memory hygiene last ran"),
        }
        tokio::select! {
            () = tokio::time::sleep(sleep) => {}
            changed = held.changed() => if changed.is_err() { return },
            changed = quarantine.changed() => if changed.is_err() { return },
            () = engine.shutdown.cancelled() => return,
        }
    }
}

/// Ends what a process that is gone left under way: a run is marked, an undo goes on to its end.
async fn take_up(engine: &Engine) -> Result<(), StoreError> {
    // Somebody may have been faster: whoever begins a run marks those that were left, and undos can go on beside it.
    let _only = engine.hygiene.only().await;
    let newest = engine
        .store
        .read(|reader| reader.hygiene_runs(&newest_one()))
        .await?;
    if let Some(run) = newest.items.first() {
        if run.state == HygieneState::Running {
            engine.store.write(CutHygieneShort).await?;
        } else if run.state == HygieneState::Stopped && !run.report.too_much.is_empty() {
            // It is still so.
            set_problem(engine, run.report.note.clone()).await;
        }
    }
    let undos = engine
        .store
        .read(|reader| reader.unfinished_undos())
        .await?;
    for id in undos {
        restore(engine, id).await?;
    }
    Ok(())
}

fn newest_one() -> PageRequest {
    PageRequest {
        limit: Some(1),
        cursor: None,
    }
}

async fn set_problem(engine: &Engine, problem: Option<String>) {
    engine.hygiene.set_problem(problem);
    announce_if_changed(engine).await;
}

/// When the next run is due; none = nothing was ever remembered.
pub async fn next_at(engine: &Engine) -> Result<Option<Timestamp>, Problem> {
    let (last, oldest) = engine.read_here(|reader| reader.hygiene_times()).await?;
    let now = engine.clock.now();
    let jitter = i64::from(own_share(JITTER_MS));
    Ok(match last {
        Some(last) if last <= now => Some(last.plus_millis(EVERY_MS + jitter)),
        // At a time that has not come: the clock was set back.
        Some(_) => Some(now),
        None => oldest.map(|oldest| oldest.min(now).plus_millis(EVERY_MS)),
    })
}

/// Sizes now.
pub async fn sizes(engine: &Engine) -> Result<Growth, StoreError> {
    let day = Day::local(engine.clock.now());
    let database = engine.settings.paths.data_dir.join("leverframe.db");
    let sizes = engine.store.read(move |reader| reader.sizes(day)).await?;
    Ok(Growth {
        log_bytes: files::look(&database).log_size,
        ..sizes
    })
}

async fn note_growth(engine: &Engine) -> Result<(), StoreError> {
    let growth = sizes(engine).await?;
    engine.store.write(NoteGrowth { growth }).await
}

/// Notes the sizes of a day that none are noted of.
async fn note_day(engine: &Engine) -> Result<(), StoreError> {
    let newest = engine
        .store
        .read_here(|reader| reader.newest_growth())
        .await?;
    if newest == Some(Day::local(engine.clock.now())) {
        return Ok(());
    }
    note_growth(engine).await
}

async fn refuse_now(engine: &Engine) -> Result<(), Problem> {
    refuse_quarantined(engine).await?;
    if engine.sessions.draining().is_some() || engine.shutdown.is_cancelled() {
        return Err(Problem::from(StoreError::Closed));
    }
    Ok(())
}

fn under_way() -> Problem {
    Problem::conflict(
        "hygiene is under way",
        "two at once would count the same memories",
    )
    .hint("try again when it has ended; `leverframe memory hygiene` shows that")
}

/// What a run would do now.
pub async fn preview(engine: &Engine) -> Result<HygieneReport, Problem> {
    memory_cleanup::preview(engine).await.map_err(Problem::from)
}

/// Runs for somebody. `yes`: also where a scope would lose more than half of what it holds to retention.
pub async fn run_now(engine: &Engine, by: ActorRef, yes: bool) -> Result<HygieneRun, Problem> {
    refuse_now(engine).await?;
    let by_itself = by.surface == Surface::Engine;
    let Some(only) = engine.hygiene.only().await else {
        return Err(under_way());
    };
    let began = Instant::now();
    let plan = plan(engine).await?;
    let refused = (!yes && !plan.too_much.is_empty()).then(|| too_much(&plan.too_much));
    if let Some(why) = &refused
        && !by_itself
    {
        return Err(Problem::conflict("too much would go", why).hint(
            "nothing was changed; look at `leverframe memory hygiene --preview` and at the clock of this machine, \
             then repeat with --yes (over HTTP: \"yes\": true)",
        ));
    }
    let id = HygieneRunId::generate();
    let begin = BeginHygiene {
        id,
        by,
        undo_ms: plan.rules.undo_ms,
        report: HygieneReport {
            too_much: plan.too_much.clone(),
            ..HygieneReport::default()
        },
    };
    engine.write(begin).await?;
    let (end, freed_bytes) = match &refused {
        Some(why) => (HygieneEnd::Refused(why.clone()), 0),
        None => match carry_out(engine, &plan, id).await {
            Ok(freed) => (HygieneEnd::Whole, freed),
            Err(error) => (HygieneEnd::Cut(error.to_string()), 0),
        },
    };
    crate::crash_point!("hygiene.pre_end");
    let ended = EndHygiene {
        id,
        end,
        freed_bytes,
        duration_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
    };
    let run = engine.write(ended).await?;
    drop(only);
    if let Err(error) = note_growth(engine).await {
        tracing::warn!(%error, "cannot record the sizes after memory hygiene");
    }
    match (&refused, &run.report.note) {
        (Some(why), _) => {
            tracing::warn!(%why, "memory hygiene did not start");
            set_problem(engine, Some(why.clone())).await;
        }
        (None, Some(why)) => {
            return Err(Problem::unavailable(
                "hygiene was cut short",
                format!("{why}; what it did is run {id}, the next run does the rest"),
            ));
        }
        (None, None) => {
            tracing::info!(
                run = %id,
                archived = run.report.archived,
                removed = run.report.removed,
                freed_bytes = run.freed_bytes,
                duration_ms = run.duration_ms,
                "memory hygiene ended"
            );
            set_problem(engine, None).await;
        }
    }
    Ok(run)
}

/// Takes a run back for somebody.
pub async fn undo(engine: &Engine, by: ActorRef, id: HygieneRunId) -> Result<HygieneRun, Problem> {
    refuse_now(engine).await?;
    let Some(_only) = engine.hygiene.only().await else {
        return Err(under_way());
    };
    let run = engine
        .read_here(move |reader| reader.hygiene_run(id))
        .await?;
    let over = |detail: String| Problem::new(ProblemKind::Gone, "its time is over", detail);
    match run.state {
        HygieneState::Running => return Err(under_way()),
        HygieneState::Undone => {
            return Err(Problem::conflict(
                "undone already",
                format!("{id} was undone: {} memories restored", run.restored),
            ));
        }
        HygieneState::Removed => {
            return Err(over(format!(
                "the engine removed for good what {id} archived, at {}",
                run.undo_until
            )));
        }
        HygieneState::Done | HygieneState::Stopped if engine.clock.now() >= run.undo_until => {
            return Err(over(format!(
                "{id} could be undone until {}",
                run.undo_until
            )));
        }
        HygieneState::Done | HygieneState::Stopped => {}
    }
    let begin = BeginUndo { id, by };
    engine.write(begin).await?;
    let run = restore(engine, id).await?;
    if let Err(error) = note_growth(engine).await {
        tracing::warn!(%error, "cannot record the sizes after an undo");
    }
    Ok(run)
}

/// Brings back what a run that is taken back archived.
async fn restore(engine: &Engine, id: HygieneRunId) -> Result<HygieneRun, StoreError> {
    let mut chunk = Chunk::of_changes();
    loop {
        let at_most = chunk.rows();
        let restored = paced(engine, &mut chunk, RestoreMemories { id, at_most }).await?;
        if restored == 0 {
            break;
        }
    }
    crate::crash_point!("hygiene.pre_end");
    let run = engine.store.write(EndUndo { id }).await?;
    tracing::info!(run = %id, restored = run.restored, "hygiene run undone");
    Ok(run)
}

fn too_much(scopes: &[HygieneExcess]) -> String {
    let scopes: Vec<String> = scopes
        .iter()
        .map(|excess| {
            format!(
                "{} of the {} memories of scope {}",
                excess.count, excess.of, excess.scope
            )
        })
        .collect();
    format!(
        "hygiene waits for a person: it would archive {} at once because of their age. Is the clock right?",
        scopes.join(" and ")
    )
}
