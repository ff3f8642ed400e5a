//! A look at everything that hygiene decides about, for a preview or for a run: in which order, in which pieces, at which
//! pace.

use std::time::{Duration, Instant};

use crate::engine::core::Engine;
use crate::engine::retention::{Batches, Job, Retention};
use crate::protocol::enums::HygieneReason;
use crate::protocol::enums::MemoryScope;
use crate::protocol::hygiene::{HygieneExcess, HygieneReport};
use crate::protocol::ids::HygieneRunId;
use crate::store::command::{Durability, WriteCommand, WriteTx};
use crate::store::commands::clean_up_memories::{
    CleanUpMemories, CompareIndex, IndexRepair, RemoveStaleSummaries, RemoveStaleVectors,
    RepairIndex,
};
use crate::store::error::StoreError;
use crate::store::hygiene::{CHUNK, Cuts, HygieneRules, Tally, add_memory, add_orphans, reason};
use crate::store::reader::Reader;

/// A piece that holds the writer longer than this is followed by a smaller one. A turn commits about ten times, and may
/// meet a piece each time.
const LONG_PIECE: Duration = Duration::from_millis(1);
/// Fewest rows of a piece that removes for good, and of any other one: on a machine that is busy with something else a
/// piece of any size takes long, and a run has to come to its end.
const LEAST: (usize, usize) = (2, 16);
/// The writer is left to others after each piece for this many times as long as that took,
const PAUSE: u32 = 3;
/// and at most this long.
const LONGEST_PAUSE: Duration = Duration::from_millis(20);
/// Bytes of remembered text up to which the words of the index are compared with it: a few milliseconds.
const COMPARED_BYTES: u64 = 256 * 1024;

/// What a run is about, from one look at every memory.
pub struct Plan {
    /// What is old and too much.
    pub rules: HygieneRules,
    cuts: Cuts,
    /// Scopes that would lose too much at once.
    pub too_much: Vec<HygieneExcess>,
    /// Bytes of all texts.
    bytes: u64,
}

/// Looks at every memory once.
pub async fn plan(engine: &Engine) -> Result<Plan, StoreError> {
    let rules = rules(engine);
    let (mut tally, mut bytes) = (Tally::default(), 0);
    let mut memories = Batches::of(engine);
    loop {
        let given = rules.clone();
        let read = move |reader: &Reader<'_>, after| reader.memory_facts(&given, after);
        let Some(memories) = memories.next(read).await? else {
            break;
        };
        for facts in &memories {
            tally.add(facts, &rules);
            bytes += facts.bytes;
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

/// What a run would do now.
pub async fn preview(engine: &Engine) -> Result<HygieneReport, StoreError> {
    let plan = plan(engine).await?;
    let report = HygieneReport {
        too_much: plan.too_much.clone(),
        ..HygieneReport::default()
    };
    let mut look = IndexScan::new(engine, &plan, Sink::Report(report));
    look.everything().await?;
    match look.into {
        Sink::Report(report) => Ok(report),
        Sink::Run(run) => Err(StoreError::bug(format!("{run} is no preview"))),
    }
}

/// Does what the plan says; bytes by which the file became shorter.
pub async fn carry_out(engine: &Engine, plan: &Plan, run: HygieneRunId) -> Result<u64, StoreError> {
    let mut look = IndexScan::new(engine, plan, Sink::Run(run));
    look.everything().await?;
    let freed = hygiene(engine).reclaim().await?;
    engine.store.checkpoint().await?;
    Ok(freed)
}

/// How many rows the next piece has. The first has the fewest: nobody knows yet how long one takes on this machine.
#[derive(Debug, Clone, Copy)]
pub struct Chunk {
    rows: usize,
    least: usize,
}

impl Chunk {
    fn of_removals() -> Self {
        Self {
            rows: LEAST.0,
            least: LEAST.0,
        }
    }

    /// Of rows that are changed.
    pub fn of_changes() -> Self {
        Self {
            rows: LEAST.1,
            least: LEAST.1,
        }
    }

    /// Rows of the next piece, at least 1.
    pub fn rows(self) -> usize {
        self.rows
    }

    /// Fits the next piece to how long this one held the writer.
    fn fit(&mut self, took: Duration) {
        if took > LONG_PIECE {
            self.rows = (self.rows / 2).max(self.least);
        } else if took < LONG_PIECE / 2 {
            self.rows = (self.rows * 2).min(CHUNK);
        }
    }
}

fn hygiene(engine: &Engine) -> Retention<'_> {
    let job = Job::Hygiene;
    Retention { engine, job }
}

/// One piece of at most `chunk` rows, which is made to fit the time that a piece may take; then the writer is left to
/// others for a while.
pub async fn paced<C: WriteCommand>(
    engine: &Engine,
    chunk: &mut Chunk,
    command: C,
) -> Result<C::Output, StoreError> {
    let (output, took) = hygiene(engine).piece(TimedCommand(command)).await?;
    chunk.fit(took);
    tokio::time::sleep((took * PAUSE).min(LONGEST_PAUSE)).await;
    Ok(output)
}

/// A command, and for how long it held the writer. Waiting for others' commits makes no piece too large.
struct TimedCommand<C>(C);

impl<C: WriteCommand> WriteCommand for TimedCommand<C> {
    type Output = (C::Output, Duration);
    const DURABILITY: Durability = C::DURABILITY;
    const ALONE: bool = C::ALONE;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<Self::Output, StoreError> {
        let began = Instant::now();
        let output = self.0.apply(tx)?;
        Ok((output, began.elapsed()))
    }

    fn committed(&self) {
        self.0.committed();
    }
}

/// Where what is found goes.
enum Sink {
    /// It is only counted.
    Report(HygieneReport),
    /// It is archived or removed, and counted in the run's row.
    Run(HygieneRunId),
}

/// The second look at everything, which is the same for a preview and for a run.
struct IndexScan<'a> {
    engine: &'a Engine,
    plan: &'a Plan,
    chunk: Chunk,
    /// Of pieces that remove for good, which takes many times as long as archiving.
    removing: Chunk,
    into: Sink,
}

impl<'a> IndexScan<'a> {
    fn new(engine: &'a Engine, plan: &'a Plan, into: Sink) -> Self {
        Self {
            engine,
            plan,
            chunk: Chunk::of_changes(),
            removing: Chunk::of_removals(),
            into,
        }
    }

    async fn everything(&mut self) -> Result<(), StoreError> {
        // First the index: what leaves it must be in it.
        self.index().await?;
        self.memories().await?;
        self.vectors().await?;
        self.summaries().await
    }

    async fn paced<C: WriteCommand>(&mut self, command: C) -> Result<C::Output, StoreError> {
        paced(self.engine, &mut self.chunk, command).await
    }

    async fn memories(&mut self) -> Result<(), StoreError> {
        let plan = self.plan;
        let mut memories = Batches::of(self.engine);
        loop {
            let rules = plan.rules.clone();
            let read = move |reader: &Reader<'_>, after| reader.memory_facts(&rules, after);
            let Some(memories) = memories.next(read).await? else {
                return Ok(());
            };
            let (mut found, mut removed) = (Vec::new(), Vec::new());
            for facts in &memories {
                let Some(reason) = reason(facts, &plan.rules, &plan.cuts) else {
                    continue;
                };
                match &mut self.into {
                    Sink::Report(report) => add_memory(report, facts, reason),
                    Sink::Run(_) if reason == HygieneReason::Removed => {
                        removed.push((facts.position, reason));
                    }
                    Sink::Run(_) => found.push((facts.position, reason)),
                }
            }
            if let Sink::Run(run) = self.into {
                let Self {
                    engine,
                    chunk,
                    removing,
                    ..
                } = self;
                for (mut found, chunk) in [(removed, removing), (found, chunk)] {
                    while !found.is_empty() {
                        let rest = found.split_off(found.len().min(chunk.rows()));
                        let memories = std::mem::replace(&mut found, rest);
                        let command = CleanUpMemories {
                            run,
                            rules: plan.rules.clone(),
                            cuts: plan.cuts.clone(),
                            memories,
                        };
                        paced(engine, chunk, command).await?;
                    }
                }
            }
        }
    }

    async fn vectors(&mut self) -> Result<(), StoreError> {
        let plan = self.plan;
        let mut stale = Batches::of(self.engine);
        loop {
            let rules = plan.rules.clone();
            let read = move |reader: &Reader<'_>, after| reader.stale_vectors(&rules, after);
            let Some(stale) = stale.next(read).await? else {
                return Ok(());
            };
            match &mut self.into {
                Sink::Report(report) => {
                    let bytes = stale.iter().map(|(_, bytes)| bytes).sum();
                    add_orphans(report, "vectors", stale.len() as u64, bytes);
                }
                Sink::Run(run) => {
                    let run = *run;
                    for vectors in stale.chunks(self.chunk.rows()) {
                        self.paced(RemoveStaleVectors {
                            run,
                            rules: plan.rules.clone(),
                            vectors: vectors.to_vec(),
                        })
                        .await?;
                    }
                }
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
                while count > 0 && self.paced(RemoveStaleSummaries { run }).await? > 0 {}
            }
        }
        Ok(())
    }

    /// Memories that the index does not have are added to it; where it holds what they do not, it is built anew.
    async fn index(&mut self) -> Result<(), StoreError> {
        let store = &self.engine.store;
        let mut anew = false;
        // A batch at a time, as with everything else; the first one found ends the search.
        let mut in_vain = Batches::of(self.engine);
        while !anew
            && let Some(in_vain) = in_vain
                .next(|reader, after| reader.indexed_in_vain(after))
                .await?
        {
            anew = !in_vain.is_empty();
        }
        let mut missing = 0;
        let mut unindexed = Batches::of(self.engine);
        while !anew
            && let Some(unindexed) = unindexed
                .next(|reader, after| reader.not_indexed(after))
                .await?
        {
            missing += unindexed.len() as u64;
            if let Sink::Run(run) = self.into {
                for positions in unindexed.chunks(self.chunk.rows()) {
                    let repair = IndexRepair::Add(positions.to_vec());
                    self.paced(RepairIndex { run, repair }).await?;
                }
            }
        }
        let mut all = None;
        if !anew && missing == 0 && self.plan.bytes <= COMPARED_BYTES {
            let (engine, job) = (self.engine, Job::Preview);
            all = Retention { engine, job }.piece(CompareIndex).await?;
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
                let (run, repair) = (*run, IndexRepair::Anew);
                self.paced(RepairIndex { run, repair }).await?;
            }
            Sink::Run(_) => {}
        }
        Ok(())
    }
}

/// Milliseconds of a day.
const DAY_MS: i64 = 24 * 3600 * 1000;

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
        embeddings: engine
            .models
            .embedder()
            .map(|embedder| embedder.settings().stored_as()),
    }
}
