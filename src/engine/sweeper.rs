//! Retention: what is old goes in small pieces while everything else goes on; what is live never goes.
//!
//! Here is the order and the pace; what may go is decided in the store, row by row, when it goes.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use crate::clock::backoff::own_share;
use crate::engine::core::Engine;
use crate::engine::datasets;
use crate::engine::file_changes;
use crate::engine::retention::{Batches, Job, Retention, refuse_quarantined};
use crate::engine::turn::attachments;
use crate::protocol::problem::{Problem, ProblemKind};
use crate::protocol::snapshot::SweepReport;
use crate::store::anchors;
use crate::store::commands::put_dataset::ExpiredDatasets;
use crate::store::commands::reclaim_space::{NoteHistorySweep, NoteSweep};
use crate::store::commands::sweep_artifacts::UnusedArtifacts;
use crate::store::commands::sweep_audit::{PruneAudit, SweepAudit};
use crate::store::commands::sweep_events::SweepEvents;
use crate::store::commands::sweep_history::OldHistory;
use crate::store::commands::sweep_loose::{
    OldKeys, OldMessages, OldQuestions, SweepCompactions, SweepGrants,
};
use crate::store::commands::sweep_sessions::{IdleSessions, OldSessions};
use crate::store::error::StoreError;
use crate::store::input::ActorRef;
use crate::store::queries::sweep::{RawId, SweepRules};

/// Milliseconds between two sweeps.
const EVERY_MS: u64 = 6 * 3600 * 1000;
/// And up to this many more, so that daemons that were started together do not sweep together.
const JITTER_MS: u32 = 15 * 60 * 1000;
/// Longest sleep: the wall clock may jump.
const LONGEST_SLEEP: Duration = Duration::from_secs(600);
/// Turns looked for at once.
const PASS: usize = 10_000;

/// Runs until the engine stops: at once when the last sweep was long ago, then every six hours.
pub async fn run(engine: Engine) {
    let jitter = u64::from(own_share(JITTER_MS));
    loop {
        let engine = engine.current();
        let now = engine.clock.now();
        let last = engine.store.read_here(|reader| reader.last_sweep()).await;
        let due_in = match last {
            Ok(Some(last)) if last <= now => {
                (EVERY_MS + jitter).saturating_sub(now.millis_since(last))
            }
            // Never, or at a time that has not come: the clock was set back.
            Ok(_) => 0,
            Err(error) => {
                tracing::warn!(%error, "cannot read the time of the last sweep");
                EVERY_MS
            }
        };
        let mut sleep = Duration::from_millis(due_in).min(LONGEST_SLEEP);
        if due_in == 0 {
            // Quarantined, full or under way: looked at again later.
            sleep = LONGEST_SLEEP;
            match sweep(&engine, ActorRef::engine(), false).await {
                Ok(_) => sleep = Duration::ZERO,
                Err(problem) if problem.kind == ProblemKind::NotOffered => {
                    tracing::debug!(%problem, "not swept");
                }
                Err(problem) => tracing::warn!(%problem, "the sweep failed"),
            }
        }
        tokio::select! {
            () = tokio::time::sleep(sleep) => {}
            () = engine.shutdown.cancelled() => return,
        }
    }
}

/// What is old now.
pub fn rules(engine: &Engine) -> SweepRules {
    let now = engine.clock.now();
    let days = |days: u32| now.plus_seconds(-i64::from(days) * 24 * 3600);
    let kept = &engine.settings.retention;
    SweepRules {
        now,
        events_before: days(kept.events),
        history_before: days(kept.history),
        idle_before: days(kept.session_idle),
        audit_before: days(kept.audit),
        keep_exchanges: engine.settings.engine.history_exchanges,
    }
}

/// Sweeps for somebody.
pub async fn sweep(engine: &Engine, by: ActorRef, preview: bool) -> Result<SweepReport, Problem> {
    refuse_quarantined(engine).await?;
    let Some(_only) = engine.maintenance.try_sweep() else {
        return Err(Problem::conflict(
            "a sweep is under way",
            "two sweeps at once would count the same things",
        )
        .hint("try again when it has ended"));
    };
    let began = Instant::now();
    let rules = rules(engine);
    let job = if preview { Job::Preview } else { Job::Sweep };
    let mut sweep = Sweep {
        engine,
        retention: Retention { engine, job },
        rules,
        report: SweepReport {
            preview,
            at: rules.now,
            ..SweepReport::default()
        },
    };
    sweep.walk(by).await?;
    let mut report = sweep.report;
    report.duration_ms = began.elapsed().as_millis() as u64;
    if !preview {
        let head = engine.read(|reader| reader.audit_head()).await?;
        let (dir, epoch) = (&engine.settings.paths.data_dir, engine.store.epoch());
        anchors::note(dir, engine.clock.now(), epoch, &head, false);
        tracing::info!(
            events = report.events,
            continuations = report.continuations,
            keys = report.keys,
            approvals = report.approvals,
            deliveries = report.deliveries,
            sessions_expired = report.sessions_expired,
            sessions = report.sessions,
            artifacts = report.artifacts,
            artifact_files = report.artifact_files,
            compactions = report.compactions,
            file_changes = report.file_changes,
            datasets = report.datasets,
            audit_rows = report.audit_rows,
            freed_bytes = report.freed_bytes,
            duration_ms = report.duration_ms,
            "swept"
        );
    }
    Ok(report)
}

/// One sweep under way.
struct Sweep<'a> {
    engine: &'a Engine,
    retention: Retention<'a>,
    rules: SweepRules,
    report: SweepReport,
}

impl Sweep<'_> {
    /// Removes what is old, or counts it for a preview. Parents go after what hangs on them.
    async fn walk(&mut self, by: ActorRef) -> Result<(), StoreError> {
        self.events().await?;
        let store = &self.engine.store;
        let rules = self.rules;
        let preview = self.report.preview;
        if !preview {
            let before = rules.history_before;
            self.retention.piece(NoteHistorySweep { before }).await?;
            self.retention.repeat(SweepGrants).await?;
        }
        let idle = store
            .read(move |reader| reader.idle_sessions(&rules))
            .await?;
        let days = self.engine.settings.retention.session_idle;
        self.report.sessions_expired = self
            .retention
            .remove(
                IdleSessions {
                    before: rules.idle_before,
                    reason: format!("no message for {days} days"),
                },
                &idle,
            )
            .await?;
        let gone = self.turns().await?;
        self.loose().await?;
        let before = rules.history_before;
        self.report.compactions = if preview {
            store
                .read(move |reader| reader.old_compactions(before))
                .await?
        } else {
            self.retention.repeat(SweepCompactions { before }).await?
        };
        let ended: Vec<i64> = store
            .read(move |reader| reader.old_sessions(before))
            .await?
            .into_iter()
            .filter(|(_, turns)| turns.iter().all(|turn| gone.contains(turn)))
            .map(|(position, _)| position)
            .collect();
        self.report.sessions = self
            .retention
            .remove(OldSessions { before }, &ended)
            .await?;
        self.artifacts(&gone).await?;
        self.datasets().await?;
        self.audit(by).await?;
        if preview {
            return Ok(());
        }
        attachments::remove_copies(self.engine).await;
        self.report.file_changes = file_changes::forget_old(self.engine).await?;
        self.report.freed_bytes = self.retention.reclaim().await?;
        self.retention.piece(NoteSweep).await
    }

    /// Files old events in the archive, then removes them. What cannot be filed stays.
    async fn events(&mut self) -> Result<(), StoreError> {
        let store = &self.engine.store;
        let rules = self.rules;
        if self.report.preview {
            let old = store
                .read(move |reader| reader.old_events_to(rules.events_before))
                .await?;
            self.report.events = old.map_or(0, |(_, count)| count);
            return Ok(());
        }
        let kept = self.engine.settings.retention;
        if kept.event_archive > 0 {
            // Before the turns go too: the event of an approval says what the row of the approval holds.
            let before = rules.events_before.max(rules.history_before);
            match store.archive_events(before).await {
                Ok(filed) => tracing::debug!(filed, "archived events"),
                Err(StoreError::Closed) => return Err(StoreError::Closed),
                Err(StoreError::Conflict { what }) => {
                    tracing::info!(what, "the next sweep archives old events");
                    return Ok(());
                }
                // On a full disk the rest of the sweep makes room.
                Err(error) => {
                    tracing::error!(%error, "cannot write the event archive: no event is removed");
                    return Ok(());
                }
            }
        }
        if let Some((to, _)) = store
            .read(move |reader| reader.old_events_to(rules.events_before))
            .await?
        {
            self.report.events = self.retention.repeat(SweepEvents { to }).await?;
        }
        let days = i64::from(kept.event_archive);
        let before = rules.events_before.plus_seconds(-days * 24 * 3600);
        match store.sweep_event_archive(before).await {
            Ok(0) => {}
            Ok(files) => tracing::info!(files, "removed old days of the event archive"),
            Err(error) => tracing::warn!(%error, "cannot remove old days of the event archive"),
        }
        Ok(())
    }

    /// The turns that a preview counts, so that it can tell what goes with them. A sweep has removed its turns by then:
    /// the set is empty.
    async fn turns(&mut self) -> Result<HashSet<RawId>, StoreError> {
        if self.report.preview {
            let old = self.engine.store.old_turns(self.rules, usize::MAX).await?;
            self.report.continuations = old.turns.len() as u64;
            return Ok(old.turns.into_iter().map(|turn| turn.id).collect());
        }
        loop {
            let old = self.engine.store.old_turns(self.rules, PASS).await?;
            let history = OldHistory {
                rules: self.rules,
                continuations_to: old.continuations_to,
                outbox_to: old.outbox_to,
            };
            let removed = self.retention.remove(history, &old.turns).await?;
            self.report.continuations += removed;
            if removed == 0 {
                return Ok(HashSet::new());
            }
        }
    }

    async fn loose(&mut self) -> Result<(), StoreError> {
        let before = self.rules.keys_before();
        let mut keys = Batches::of(self.engine);
        while let Some(keys) = keys
            .next(move |reader, after| reader.old_keys(before, after))
            .await?
        {
            self.report.keys += self.retention.remove(OldKeys { before }, &keys).await?;
        }
        let before = self.rules.history_before;
        let store = &self.engine.store;
        let questions = store
            .read(move |reader| reader.old_questions(before))
            .await?;
        let old = OldQuestions { before };
        self.report.approvals = self.retention.remove(old, &questions).await?;
        let mut messages = Batches::of(self.engine);
        while let Some(messages) = messages
            .next(move |reader, after| reader.old_messages(before, after))
            .await?
        {
            let old = OldMessages { before };
            self.report.deliveries += self.retention.remove(old, &messages).await?;
        }
        Ok(())
    }

    async fn artifacts(&mut self, gone: &HashSet<RawId>) -> Result<(), StoreError> {
        let mut artifacts = Batches::of(self.engine);
        while let Some(artifacts) = artifacts
            .next(|reader, after| reader.referred_artifacts(after))
            .await?
        {
            let mut unused = Vec::new();
            for artifact in artifacts {
                if artifact.by.iter().all(|turn| gone.contains(turn)) {
                    unused.push(artifact.hash);
                    // The files of a sweep are counted when they go.
                    if self.report.preview {
                        self.report.artifact_files += 1;
                        self.report.artifact_bytes += artifact.size;
                    }
                }
            }
            self.report.artifacts += self.retention.remove(UnusedArtifacts, &unused).await?;
        }
        let files = self
            .engine
            .store
            .sweep_artifact_files(self.rules.now, self.report.preview)
            .await?;
        self.report.artifact_files += files.files;
        self.report.artifact_bytes += files.bytes;
        Ok(())
    }

    async fn datasets(&mut self) -> Result<(), StoreError> {
        let now = self.rules.now;
        let store = &self.engine.store;
        let expired = store
            .read(move |reader| reader.expired_datasets(now))
            .await?;
        let old = ExpiredDatasets { now };
        self.report.datasets = self.retention.remove(old, &expired).await?;
        if self.report.datasets > 0 && !self.report.preview {
            datasets::announce(self.engine, None);
        }
        let lock = store.dataset_lock().await;
        let files = store
            .sweep_dataset_files(&lock, self.report.preview)
            .await?;
        self.report.dataset_files = files.files;
        self.report.dataset_bytes = files.bytes;
        Ok(())
    }

    async fn audit(&mut self, by: ActorRef) -> Result<(), StoreError> {
        let rules = self.rules;
        let old = self
            .engine
            .store
            .read(move |reader| reader.old_audit(&rules))
            .await?;
        if self.report.preview {
            self.report.audit_rows = old.map_or(0, |(from, to)| to - from + 1);
            return Ok(());
        }
        if let Some((from, to)) = old {
            self.retention.piece(PruneAudit { from, to, by }).await?;
        }
        // Also what a sweep before this one archived and did not get to remove.
        self.report.audit_rows = self.retention.repeat(SweepAudit).await?;
        Ok(())
    }
}
