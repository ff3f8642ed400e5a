//! Hygiene: running it, taking it back, and what it answers.

use crate::engine::caller::Caller;
use crate::engine::core::Engine;
use crate::engine::hygiene;
use crate::protocol::enums::MemoryScope;
use crate::protocol::hygiene::{HygieneRun, HygieneStatus};
use crate::protocol::ids::HygieneRunId;
use crate::protocol::problem::Problem;
use crate::protocol::snapshot::PageRequest;

/// Runs now. Goes on when nobody waits for the answer any more.
pub async fn run(engine: &Engine, caller: &Caller, yes: bool) -> Result<HygieneRun, Problem> {
    let (own, by) = (engine.clone(), caller.reference());
    finish(engine, async move { hygiene::run_now(&own, by, yes).await }).await
}

/// Takes a run back. Goes on when nobody waits for the answer any more.
pub async fn undo(
    engine: &Engine,
    caller: &Caller,
    id: HygieneRunId,
) -> Result<HygieneRun, Problem> {
    let (own, by) = (engine.clone(), caller.reference());
    finish(engine, async move { hygiene::undo(&own, by, id).await }).await
}

async fn finish(
    engine: &Engine,
    work: impl Future<Output = Result<HygieneRun, Problem>> + Send + 'static,
) -> Result<HygieneRun, Problem> {
    let task = engine.tasks.spawn(work);
    task.await
        .map_err(|error| Problem::internal(format!("hygiene did not end: {error}")))?
}

/// Settings, last and next run, growth.
pub async fn status(engine: &Engine) -> Result<HygieneStatus, Problem> {
    // Before the run is read: a run that is not under way any more has its end in its row.
    let running = engine.hygiene.is_running();
    let settings = &engine.settings.hygiene;
    let newest = PageRequest {
        limit: Some(1),
        cursor: None,
    };
    let (runs, growth) = engine
        .read(move |reader| Ok((reader.hygiene_runs(&newest)?, reader.growth()?)))
        .await?;
    let days = |scope: &MemoryScope| (*scope, settings.days_of(*scope));
    Ok(HygieneStatus {
        retention_days: MemoryScope::ALL.iter().map(days).collect(),
        max_memories: settings.max_memories,
        undo_days: settings.undo_days,
        running,
        problem: engine.hygiene.problem(),
        last: runs.items.into_iter().next(),
        next_at: hygiene::next_at(engine).await?,
        sizes: hygiene::sizes(engine).await?,
        growth,
    })
}
