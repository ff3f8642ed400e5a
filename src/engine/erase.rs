//! Erasing a user: everything of a platform id goes for good, in small pieces, and then it is counted what is left.
//!
//! It is noted before the first piece and goes on after the next start, whatever ended it half-way. The audit stays as it
//! is, because it is append-only: it says who decided what and holds nothing of what was said.

use std::time::Duration;

use serde_json::json;
use sha2::{Digest, Sha256};

use crate::engine::caller::Caller;
use crate::engine::core::Engine;
use crate::engine::response_cache::stats;
use crate::engine::retention::{Job, Retention, refuse_quarantined};
use crate::engine::turn::attachments;
use crate::protocol::hex::hex;
use crate::protocol::memory::Erasure;
use crate::protocol::problem::{Problem, ProblemKind};
use crate::store::commands::erase_user::{
    BeginErasure, EndErasure, EndedTurns, Loose, LooseThings, Rename, SharedSessions, WholeSessions,
};
use crate::store::commands::put_dataset::DatasetsOfPerson;
use crate::store::commands::remove::CHUNK;
use crate::store::commands::sweep_artifacts::UnusedArtifacts;
use crate::store::error::StoreError;
use crate::store::input::ActorRef;
use crate::store::queries::erase::Traces;
use crate::store::response_cache::counters::local_day;

/// Longest id of a person.
const MAX_ID: usize = 255;
/// Times that traces are looked for again: what comes in meanwhile is removed too, but not for ever.
const PASSES: usize = 3;
/// How often it is tried to empty the log and to remove files while somebody reads, and how long is waited in between.
const TRIES: usize = 100;
const PAUSE: Duration = Duration::from_millis(50);
/// After a start, until it is tried again to go on.
const AGAIN: Duration = Duration::from_secs(1);

/// An id that can stand in the database: `telegram:123456`.
fn checked(person: &str) -> Result<(), Problem> {
    let fits = person
        .split_once(':')
        .is_some_and(|(kind, id)| !kind.is_empty() && !id.is_empty())
        && person.len() <= MAX_ID
        && !person
            .chars()
            .any(|c| c.is_whitespace() || c.is_control() || matches!(c, '"' | '\\'));
    if fits {
        return Ok(());
    }
    Err(Problem::invalid(format!(
        "`{}` is not the id of a person: expected one like `telegram:123456`",
        person.chars().take(64).collect::<String>()
    ))
    .hint("ids stand with a session's turns, not display names; a person of several platforms has several"))
}

/// A name that only says whether two are the same.
fn digest(person: &str) -> String {
    hex(&Sha256::digest(person.as_bytes()))
}

/// What stands where the id stood.
fn other_name(person: &str) -> String {
    format!("erased:{}", digest(person).get(..12).unwrap_or_default())
}

fn counts(person: &str, traces: &Traces) -> Erasure {
    Erasure {
        person: person.to_owned(),
        memories: traces.memories.len() as u64,
        summaries: traces.summaries,
        continuations: traces.turns.len() as u64,
        open: traces.open.len() as u64,
        artifacts: traces.artifacts.len() as u64,
        datasets: traces.datasets.len() as u64,
        cached: 0,
        left: 0,
    }
}

/// What an erasure would remove.
pub async fn preview(engine: &Engine, person: String) -> Result<Erasure, Problem> {
    checked(&person)?;
    let traces = engine.store.traces(&person).await?;
    let cached = engine.response_cache.file.count_of(&person).await;
    Ok(Erasure {
        cached: cached.map_err(stats::problem)?,
        ..counts(&person, &traces)
    })
}

/// Erases a user. Goes on when nobody waits for the answer any more.
pub async fn user(engine: &Engine, caller: &Caller, person: String) -> Result<Erasure, Problem> {
    checked(&person)?;
    let by = caller.reference();
    let task = engine.tasks.spawn(erase(engine.clone(), person, by));
    task.await
        .map_err(|error| Problem::internal(format!("the erasure did not end: {error}")))?
}

/// Goes on with what was begun before the process ended.
pub async fn resume(engine: Engine) {
    let begun = engine.store.read_here(|reader| reader.open_erasure()).await;
    let note: serde_json::Value = match begun {
        Ok(Some(note)) => serde_json::from_str(&note).unwrap_or_default(),
        Ok(None) => return,
        Err(error) => {
            tracing::warn!(%error, "cannot read whether an erasure is in progress");
            return;
        }
    };
    let text = |name: &str| note[name].as_str().unwrap_or_default().to_owned();
    let by = ActorRef {
        label: text("label"),
        id: text("id"),
        surface: text("surface")
            .parse()
            .unwrap_or(crate::protocol::enums::Surface::Engine),
    };
    loop {
        match erase(engine.clone(), text("person"), by.clone()).await {
            Ok(_) => tracing::info!("finished the erasure of a user"),
            // A sweep, something being sent, a copy that waits for its release.
            Err(problem)
                if matches!(
                    problem.kind,
                    ProblemKind::Conflict | ProblemKind::NotOffered
                ) =>
            {
                tokio::select! {
                    () = tokio::time::sleep(AGAIN) => continue,
                    () = engine.shutdown.cancelled() => {}
                }
            }
            Err(problem) => {
                tracing::error!(%problem, "the erasure of a user is incomplete; erase them again");
            }
        }
        return;
    }
}

async fn erase(engine: Engine, person: String, by: ActorRef) -> Result<Erasure, Problem> {
    // Also of a note: an empty name stands everywhere.
    checked(&person)?;
    refuse_quarantined(&engine).await?;
    let Some(_only) = engine.maintenance.try_sweep() else {
        return Err(Problem::conflict(
            "the database is being swept",
            "what is removed by two at once would be counted twice",
        )
        .hint("try again when the sweep or the other erasure has ended"));
    };
    let traces = engine.store.traces(&person).await?;
    refuse_open(&traces)?;
    let job = Job::Erase;
    let mut work = Work {
        engine: &engine,
        retention: Retention {
            engine: &engine,
            job,
        },
        person: &person,
        gone: counts(&person, &traces),
    };
    work.carry_out(traces, by).await?;
    Ok(work.gone)
}

fn refuse_open(traces: &Traces) -> Result<(), Problem> {
    // What is on its way cannot be called back.
    if traces.open.is_empty() && traces.sending {
        return Err(Problem::conflict(
            "something is being sent to them",
            "a message to this person is on its way at this moment; nothing was removed",
        )
        .hint("try again in a moment; `leverframe outbox list` shows it"));
    }
    if traces.open.is_empty() {
        return Ok(());
    }
    let ids: Vec<String> = traces
        .open
        .iter()
        .take(10)
        .map(ToString::to_string)
        .collect();
    Err(Problem::conflict(
        "turns of theirs are under way",
        format!(
            "{} of their turns have not ended: {}; nothing was removed",
            traces.open.len(),
            ids.join(", ")
        ),
    )
    .hint("end each with `leverframe continuations cancel ID`, then erase again"))
}

struct Work<'a> {
    engine: &'a Engine,
    retention: Retention<'a>,
    person: &'a str,
    gone: Erasure,
}

impl Work<'_> {
    async fn carry_out(&mut self, traces: Traces, by: ActorRef) -> Result<(), Problem> {
        let note = json!({
            "person": self.person,
            "label": by.label,
            "id": by.id,
            "surface": by.surface,
        });
        let begin = BeginErasure {
            note: note.to_string(),
            by: by.clone(),
        };
        self.retention.piece(begin).await?;
        // First, while rows still say whose turns these were.
        let other = other_name(self.person);
        let archived = self
            .engine
            .store
            .erase_archived(self.person, &other, &traces);
        archived.await?;
        self.rows(traces).await?;
        let cache = &self.engine.response_cache.file;
        let day = local_day(self.engine.clock.now());
        let cached = cache.erase(self.person, day).await;
        self.gone.cached = cached.map_err(stats::problem)?;
        self.files().await?;
        attachments::remove_copies(self.engine).await;
        // What was said is off the disk before it is noted as done; after that, the note itself.
        self.shorten().await?;
        crate::crash_point!("erase.pre_end");
        let end = EndErasure {
            digest: digest(self.person),
            erasure: Erasure {
                person: String::new(),
                ..self.gone.clone()
            },
            by,
        };
        self.retention.piece(end).await?;
        self.shorten().await?;
        self.gone.left = self.count().await?;
        Ok(())
    }

    /// Their own rows, and their name in the rows of others.
    async fn rows(&mut self, mut traces: Traces) -> Result<(), StoreError> {
        for pass in 0..PASSES {
            if pass > 0 {
                traces = self.engine.store.traces(self.person).await?;
                if traces.is_empty() {
                    break;
                }
            }
            self.remove(&traces).await?;
        }
        let tables = self
            .engine
            .store
            .read(|reader| reader.tables_with_text())
            .await?;
        for table in tables {
            let mut after = None;
            loop {
                let (of, person, other, from) = (
                    table.clone(),
                    self.person.to_owned(),
                    other_name(self.person),
                    after.take(),
                );
                let mentions = self
                    .engine
                    .store
                    .read(move |reader| {
                        reader.mentions(&of, &person, &other, from.as_deref(), CHUNK as usize)
                    })
                    .await?;
                let Some(last) = mentions.last() else { break };
                after = Some(last.key.clone());
                let what = Rename {
                    table: table.clone(),
                };
                self.retention.remove(what, &mentions).await?;
            }
        }
        Ok(())
    }

    async fn remove(&self, traces: &Traces) -> Result<(), StoreError> {
        let retention = self.retention;
        retention.remove(EndedTurns, &traces.turns).await?;
        let loose: Vec<Loose> = traces
            .memories
            .iter()
            .map(|id| Loose::Memory(*id))
            .chain(traces.approvals.iter().map(|id| Loose::Question(*id)))
            .chain(traces.outbox.iter().map(|at| Loose::Message(*at)))
            .chain(traces.inbox.iter().map(|id| Loose::Key(*id)))
            .chain(traces.routines.iter().map(|id| Loose::Routine(*id)))
            .chain(traces.events.iter().map(|seq| Loose::Event(*seq)))
            .collect();
        retention.remove(LooseThings, &loose).await?;
        retention.remove(WholeSessions, &traces.sessions).await?;
        retention.remove(SharedSessions, &traces.shared).await?;
        let unused = [&traces.artifacts[..], &traces.unreferred[..]].concat();
        retention.remove(UnusedArtifacts, &unused).await?;
        retention.remove(DatasetsOfPerson, &traces.datasets).await?;
        Ok(())
    }

    /// Files of artifacts that nobody refers to any more.
    async fn files(&self) -> Result<(), Problem> {
        for _ in 0..TRIES {
            let store = &self.engine.store;
            let removed = store.remove_unnamed_files().await?;
            let lock = store.dataset_lock().await;
            store.sweep_dataset_files(&lock, false).await?;
            let left = store.sweep_dataset_files(&lock, true).await;
            if removed.is_some() && left?.files == 0 {
                return Ok(());
            }
            tokio::time::sleep(PAUSE).await;
        }
        Err(half(
            "the files of artifacts and datasets are needed by a backup or a running tool",
        ))
    }

    /// Gives every free page back and empties the log.
    async fn shorten(&self) -> Result<(), Problem> {
        let store = &self.engine.store;
        self.retention.reclaim_all().await?;
        for _ in 0..TRIES {
            store.checkpoint().await?;
            if store.log_bytes() == 0 {
                return Ok(());
            }
            tokio::time::sleep(PAUSE).await;
        }
        Err(half(
            "the write-ahead log cannot be emptied, because somebody reads the database",
        ))
    }

    /// Rows and lines of the event archive that still hold the id.
    async fn count(&self) -> Result<u64, StoreError> {
        let store = &self.engine.store;
        let traces = store.traces(self.person).await?;
        let mut left = (traces.turns.len() + traces.memories.len() + traces.outbox.len()) as u64;
        for table in store.read(|reader| reader.tables_with_text()).await? {
            let (person, other) = (self.person.to_owned(), other_name(self.person));
            let all = usize::MAX;
            let mentions =
                store.read(move |reader| reader.mentions(&table, &person, &other, None, all));
            left += mentions.await?.len() as u64;
        }
        let other = other_name(self.person);
        left += store.archived_of(self.person, &other, &traces).await?;
        Ok(left)
    }
}

fn half(why: &str) -> Problem {
    Problem::unavailable("erased, but not yet gone from the disk", why)
        .hint("repeat it when that has ended; what is gone already stays gone")
}
