//! Hygiene of the memory: when it runs, in which order, at which pace. What goes is decided in `store::hygiene`, by the
//! same function for the preview and for the run.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::clock::{Day, Timestamp};
use crate::engine::core::{Engine, lock};
use crate::engine::pieces::{piece, reclaim};
use crate::engine::problem::from_store;
use crate::engine::storage::announce_if_changed;
use crate::protocol::hygiene::{Growth, HygieneExcess, HygieneReport, HygieneRun};
use crate::protocol::ids::HygieneRunId;
use crate::protocol::problem::{Problem, ProblemKind};
use crate::protocol::snapshot::PageRequest;
use crate::protocol::words::{HygieneReason, HygieneState, MemoryScope, Surface};
use crate::store::command::WriteCommand;
use crate::store::commands::run_hygiene::{
    BeginHygiene, CutHygieneShort, EndHygiene, HygieneEnd, NoteGrowth,
};
use crate::store::commands::tidy_memories::{
    CompareIndex, Mend, MendIndex, TidyMemories, TidySummaries, TidyVectors,
};
use crate::store::commands::undo_hygiene::{BeginUndo, EndUndo, RestoreMemories};
use crate::store::error::StoreError;
use crate::store::files;
use crate::store::hygiene::{CHUNK, Cuts, HygieneRules, Tally, add_memory, add_orphans, reason};
use crate::store::input::ActorRef;

/// Milliseconds between two runs.
pub const EVERY_MS: i64 = 12 * 3600 * 1000;
/// And up to this many more, so that daemons that were started together do not run together.
const JITTER_MS: i64 = 30 * 60 * 1000;
/// Longest sleep: the wall clock may jump, and a day may end.
const LONGEST_SLEEP: Duration = Duration::from_secs(600);
/// Milliseconds of a day.
const DAY_MS: i64 = 24 * 3600 * 1000;
/// A piece that holds the writer longer than this is followed by a smaller one.
const LONG_PIECE: Duration = Duration::from_millis(4);
/// Fewest rows of a piece.
const SMALL_CHUNK: usize = 25;
/// The writer is left to others after each piece for as long as that took, and at most this long.
const LONGEST_PAUSE: Duration = Duration::from_millis(20);
/// Bytes of remembered text up to which the words of the index are compared with it: a few milliseconds.
const COMPARED_BYTES: u64 = 256 * 1024;

/// What the engine holds of it.
#[derive(Debug, Default)]
pub struct Hygiene {
    /// Whether a run or an undo is under way.
    running: AtomicBool,
    /// Why the last run by itself was not begun.
    problem: Mutex<Option<String>>,
}

impl Hygiene {
    /// What stands in its way, for people.
    pub fn problem(&self) -> Option<String> {
        lock(&self.problem).clone()
    }

    /// Whether a run or an undo is under way.
    pub fn is_running(&self) -> bool {
        self.running.load(Ordering::Acquire)
    }

    /// The right to be the only one, until it is dropped; none = somebody has it.
    fn only(&self) -> Option<Only<'_>> {
        let taken = self
            .running
            .compare_exchange(false, true, Ordering::AcqRel, Ordering::Acquire);
        taken.ok().map(|_| Only(&self.running))
    }
}

/// The right to be the only run or undo under way.
struct Only<'a>(&'a AtomicBool);

impl Drop for Only<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// Runs until the engine stops.
pub async fn run(engine: Engine) {
    let mut held = engine.held.subscribe();
    let mut quarantine = engine.quarantine.subscribe();
    let mut taken_up = false;
    loop {
        let free = !*quarantine.borrow_and_update() && engine.store.problem().is_none();
        // Marks and undos were a person's word already; they wait for no release of a stop.
        if free && !taken_up {
            match take_up(&engine).await {
                Ok(()) => taken_up = true,
                Err(error) => tracing::warn!(%error, "what a run of hygiene left is not taken up"),
            }
        }
        if free && let Err(error) = note_day(&engine).await {
            tracing::warn!(%error, "the sizes of the day are not noted");
        }
        let is_held = held.borrow_and_update().is_some();
        let mut sleep = LONGEST_SLEEP;
        match next_at(&engine).await {
            Ok(Some(at)) if free && !is_held && engine.may_begin() => {
                let due_in = at.millis_since(engine.clock.now());
                if due_in > 0 {
                    sleep = sleep.min(Duration::from_millis(due_in));
                } else if let Err(problem) = tidy(&engine, ActorRef::engine(), false).await {
                    // Looked at again later.
                    tracing::warn!(%problem, "hygiene did not end well");
                }
            }
            Ok(_) => {}
            Err(problem) => tracing::warn!(%problem, "cannot read when hygiene ran"),
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
    let _only = engine.hygiene.only();
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
    *lock(&engine.hygiene.problem) = problem;
    announce_if_changed(engine).await;
}

/// When the next run is due; none = nothing was ever remembered.
pub async fn next_at(engine: &Engine) -> Result<Option<Timestamp>, Problem> {
    let (last, oldest) = engine
        .store
        .read_here(|reader| reader.hygiene_times())
        .await
        .map_err(from_store)?;
    let now = engine.clock.now();
    let jitter = i64::from(std::process::id()).wrapping_mul(7919) % JITTER_MS;
    Ok(match last {
        Some(last) if last <= now => Some(last.plus_millis(EVERY_MS + jitter)),
        // At a time that has not come: the clock was set back.
        Some(_) => Some(now),
        None => oldest.map(|oldest| oldest.min(now).plus_millis(EVERY_MS)),
    })
}

/// What is old and too much now.
pub fn rules(engine: &Engine) -> HygieneRules {
    let settings = &engine.settings.hygiene;
    let now = engine.clock.now();
    let since = |scope: &MemoryScope| {
        let days = settings.days_of(*scope);
        (days > 0).then(|| (*scope, now.plus_millis(-i64::from(days) * DAY_MS)))
    };
    HygieneRules {
        now,
        kept_since: MemoryScope::ALL.iter().filter_map(since).collect(),
        max_memories: settings.max_memories,
        undo_ms: i64::from(settings.undo_days) * DAY_MS,
        embeddings: None,
    }
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

fn refuse_when_quarantined(engine: &Engine) -> Result<(), Problem> {
    if *engine.quarantine.borrow() {
        return Err(Problem::new(
            ProblemKind::NotOffered,
            "quarantined",
            "the database is a restored copy: nothing is put aside or brought back before it is released",
        )
        .hint("look at what is uncertain, then `leverframe release`"));
    }
    if engine.draining.borrow().is_some() || engine.shutdown.is_cancelled() {
        return Err(from_store(StoreError::Closed));
    }
    Ok(())
}

fn under_way() -> Problem {
    Problem::new(
        ProblemKind::Conflict,
        "hygiene is under way",
        "two at once would count the same memories",
    )
    .hint("try again when it has ended; `leverframe memory hygiene` says so")
}

/// What a run would do now.
pub async fn preview(engine: &Engine) -> Result<HygieneReport, Problem> {
    let plan = plan(engine).await.map_err(from_store)?;
    let mut look = Look {
        engine,
        plan: &plan,
        chunk: CHUNK,
        into: Sink::Report(HygieneReport {
            too_much: plan.too_much.clone(),
            ..HygieneReport::default()
        }),
    };
    look.everything().await.map_err(from_store)?;
    match look.into {
        Sink::Report(report) => Ok(report),
        Sink::Run(_) => Err(Problem::internal("a preview changed something")),
    }
}

/// Runs for somebody. `yes`: also where a scope would lose more than half of what it holds to retention.
pub async fn tidy(engine: &Engine, by: ActorRef, yes: bool) -> Result<HygieneRun, Problem> {
    refuse_when_quarantined(engine)?;
    let by_itself = by.surface == Surface::Engine;
    let Some(only) = engine.hygiene.only() else {
        return Err(under_way());
    };
    let began = Instant::now();
    let plan = plan(engine).await.map_err(from_store)?;
    let refused = (!yes && !plan.too_much.is_empty()).then(|| too_much(&plan.too_much));
    if let Some(why) = &refused
        && !by_itself
    {
        return Err(Problem::new(ProblemKind::Conflict, "too much would go", why).hint(
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
    engine.store.write(begin).await.map_err(from_store)?;
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
    let run = engine.store.write(ended).await.map_err(from_store)?;
    drop(only);
    if let Err(error) = note_growth(engine).await {
        tracing::warn!(%error, "the sizes after hygiene are not noted");
    }
    match (&refused, &run.report.note) {
        (Some(why), _) => {
            tracing::warn!(%why, "hygiene was not begun");
            set_problem(engine, Some(why.clone())).await;
        }
        (None, Some(why)) => {
            return Err(Problem::new(
                ProblemKind::Unavailable,
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
                "memory tidied"
            );
            set_problem(engine, None).await;
        }
    }
    Ok(run)
}

/// Takes a run back for somebody.
pub async fn undo(engine: &Engine, by: ActorRef, id: HygieneRunId) -> Result<HygieneRun, Problem> {
    refuse_when_quarantined(engine)?;
    let Some(_only) = engine.hygiene.only() else {
        return Err(under_way());
    };
    let run = engine
        .store
        .read_here(move |reader| reader.hygiene_run(id))
        .await
        .map_err(from_store)?;
    let over = |detail: String| Problem::new(ProblemKind::Gone, "its time is over", detail);
    match run.state {
        HygieneState::Running => return Err(under_way()),
        HygieneState::Undone => {
            return Err(Problem::new(
                ProblemKind::Conflict,
                "taken back already",
                format!("{id} was taken back, {} memories came back", run.restored),
            ));
        }
        HygieneState::Removed => {
            return Err(over(format!(
                "what {id} put aside is removed for good since {}",
                run.undo_until
            )));
        }
        HygieneState::Done | HygieneState::Stopped if engine.clock.now() >= run.undo_until => {
            return Err(over(format!(
                "{id} could be taken back until {}",
                run.undo_until
            )));
        }
        HygieneState::Done | HygieneState::Stopped => {}
    }
    let begin = BeginUndo { id, by };
    engine.store.write(begin).await.map_err(from_store)?;
    let run = restore(engine, id).await.map_err(from_store)?;
    if let Err(error) = note_growth(engine).await {
        tracing::warn!(%error, "the sizes after an undo are not noted");
    }
    Ok(run)
}

/// Brings back what a run that is taken back put aside.
async fn restore(engine: &Engine, id: HygieneRunId) -> Result<HygieneRun, StoreError> {
    let mut chunk = CHUNK;
    loop {
        let at_most = chunk;
        let restored = paced(engine, &mut chunk, RestoreMemories { id, at_most }).await?;
        crate::crash_point!("hygiene.mid");
        if restored == 0 {
            break;
        }
    }
    crate::crash_point!("hygiene.pre_end");
    let run = engine.store.write(EndUndo { id }).await?;
    tracing::info!(run = %id, restored = run.restored, "hygiene taken back");
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
        "hygiene waits for a person: {} would go at once because they are old: is the clock right?",
        scopes.join(" and ")
    )
}

/// What a run is about, from one look at every memory.
struct Plan {
    rules: HygieneRules,
    cuts: Cuts,
    too_much: Vec<HygieneExcess>,
    /// Bytes of all texts.
    bytes: u64,
}

async fn plan(engine: &Engine) -> Result<Plan, StoreError> {
    let rules = rules(engine);
    let (mut tally, mut bytes, mut after) = (Tally::default(), 0, 0);
    loop {
        let given = rules.clone();
        let page = engine
            .store
            .read(move |reader| reader.memory_facts(&given, after))
            .await?;
        for facts in &page.found {
            tally.add(facts, &rules);
            bytes += facts.bytes;
        }
        match page.next {
            Some(next) => after = next,
            None => break,
        }
    }
    let too_much = tally.too_much();
    Ok(Plan {
        cuts: tally.cuts(&rules),
        rules,
        too_much,
        bytes,
    })
}

/// Does what the plan says; bytes by which the file became shorter.
async fn carry_out(engine: &Engine, plan: &Plan, run: HygieneRunId) -> Result<u64, StoreError> {
    let mut look = Look {
        engine,
        plan,
        chunk: CHUNK,
        into: Sink::Run(run),
    };
    look.everything().await?;
    let freed = reclaim(engine).await?;
    engine.store.checkpoint().await?;
    Ok(freed)
}

/// One piece of at most `chunk` rows, which is made to fit the time that a piece may take; then the writer is left to
/// others for a while.
async fn paced<C: WriteCommand>(
    engine: &Engine,
    chunk: &mut usize,
    command: C,
) -> Result<C::Output, StoreError> {
    let began = Instant::now();
    let output = piece(engine, command).await?;
    let took = began.elapsed();
    if took > LONG_PIECE {
        *chunk = (*chunk / 2).max(SMALL_CHUNK);
    } else if took < LONG_PIECE / 2 {
        *chunk = (*chunk * 2).min(CHUNK);
    }
    tokio::time::sleep(took.min(LONGEST_PAUSE)).await;
    Ok(output)
}

/// Where what is found goes.
enum Sink {
    /// It is only counted.
    Report(HygieneReport),
    /// It is put aside or removed, and counted in the run's row.
    Run(HygieneRunId),
}

/// The second look at everything, which is the same for a preview and for a run.
struct Look<'a> {
    engine: &'a Engine,
    plan: &'a Plan,
    chunk: usize,
    into: Sink,
}

impl Look<'_> {
    async fn everything(&mut self) -> Result<(), StoreError> {
        // First the index: what leaves it must be in it.
        self.index().await?;
        self.memories().await?;
        self.vectors().await?;
        self.summaries().await
    }

    async fn paced<C: WriteCommand>(&mut self, command: C) -> Result<C::Output, StoreError> {
        let output = paced(self.engine, &mut self.chunk, command).await?;
        crate::crash_point!("hygiene.mid");
        Ok(output)
    }

    async fn memories(&mut self) -> Result<(), StoreError> {
        let plan = self.plan;
        let mut after = 0;
        loop {
            let rules = plan.rules.clone();
            let page = self
                .engine
                .store
                .read(move |reader| reader.memory_facts(&rules, after))
                .await?;
            let mut found: Vec<(i64, HygieneReason)> = Vec::new();
            for facts in &page.found {
                let Some(reason) = reason(facts, &plan.rules, &plan.cuts) else {
                    continue;
                };
                match &mut self.into {
                    Sink::Report(report) => add_memory(report, facts, reason),
                    Sink::Run(_) => found.push((facts.position, reason)),
                }
            }
            if let Sink::Run(run) = self.into {
                while !found.is_empty() {
                    let rest = found.split_off(found.len().min(self.chunk));
                    let memories = std::mem::replace(&mut found, rest);
                    self.paced(TidyMemories {
                        run,
                        rules: plan.rules.clone(),
                        cuts: plan.cuts.clone(),
                        memories,
                    })
                    .await?;
                }
            }
            match page.next {
                Some(next) => after = next,
                None => return Ok(()),
            }
        }
    }

    async fn vectors(&mut self) -> Result<(), StoreError> {
        let plan = self.plan;
        let mut after = None;
        loop {
            let rules = plan.rules.clone();
            let page = self
                .engine
                .store
                .read(move |reader| reader.stale_vectors(&rules, after))
                .await?;
            match &mut self.into {
                Sink::Report(report) => {
                    let bytes = page.found.iter().map(|(_, bytes)| bytes).sum();
                    add_orphans(report, "vectors", page.found.len() as u64, bytes);
                }
                Sink::Run(run) => {
                    let run = *run;
                    for vectors in page.found.chunks(SMALL_CHUNK) {
                        self.paced(TidyVectors {
                            run,
                            rules: plan.rules.clone(),
                            vectors: vectors.to_vec(),
                        })
                        .await?;
                    }
                }
            }
            match page.next {
                Some(next) => after = Some(next),
                None => return Ok(()),
            }
        }
    }

    async fn summaries(&mut self) -> Result<(), StoreError> {
        let (count, bytes) = self
            .engine
            .store
            .read(|reader| reader.stale_summaries())
            .await?;
        match &mut self.into {
            Sink::Report(report) => add_orphans(report, "summaries", count, bytes),
            Sink::Run(run) => {
                let run = *run;
                while count > 0 && self.paced(TidySummaries { run }).await? > 0 {}
            }
        }
        Ok(())
    }

    /// Memories that the index does not have are added to it; where it holds what they do not, it is built anew.
    async fn index(&mut self) -> Result<(), StoreError> {
        let store = &self.engine.store;
        let in_vain = store.read(|reader| {
            let mut after = 0;
            // A page at a time only because of memory: a first one ends the search.
            loop {
                let page = reader.indexed_in_vain(after)?;
                match page.next {
                    Some(next) if page.found.is_empty() => after = next,
                    Some(_) | None => return Ok(!page.found.is_empty()),
                }
            }
        });
        let mut anew = in_vain.await?;
        let mut missing = 0;
        let mut after = 0;
        while !anew {
            let page = store.read(move |reader| reader.not_indexed(after)).await?;
            missing += page.found.len() as u64;
            if let Sink::Run(run) = self.into {
                for positions in page.found.chunks(SMALL_CHUNK) {
                    let mend = Mend::Add(positions.to_vec());
                    self.paced(MendIndex { run, mend }).await?;
                }
            }
            match page.next {
                Some(next) => after = next,
                None => break,
            }
        }
        let mut all = None;
        if !anew && missing == 0 && self.plan.bytes <= COMPARED_BYTES {
            all = piece(self.engine, CompareIndex).await?;
            anew = all.is_some();
        }
        match &mut self.into {
            Sink::Report(report) if anew => {
                let all = match all {
                    Some(all) => all,
                    None => store.read(|reader| reader.remembered()).await?,
                };
                add_orphans(report, "index", all, 0);
            }
            Sink::Report(report) => add_orphans(report, "index", missing, 0),
            Sink::Run(run) if anew => {
                let (run, mend) = (*run, Mend::Anew);
                self.paced(MendIndex { run, mend }).await?;
            }
            Sink::Run(_) => {}
        }
        Ok(())
    }
}
