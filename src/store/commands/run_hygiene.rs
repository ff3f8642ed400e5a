//! The beginning and the end of a run of hygiene, and the sizes of a day.

use serde_json::json;

use crate::protocol::enums::{HygieneState, Surface};
use crate::protocol::event::EventBody;
use crate::protocol::hygiene::{Growth, HygieneReport, HygieneRun};
use crate::protocol::ids::HygieneRunId;
use crate::store::command::{Durability, WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::input::ActorRef;
use crate::store::meta;
use crate::store::sql::{Json, Statements, params};
use crate::store::tx::hygiene::load_run;

/// What a run says that was cut short by the end of its process.
pub const CUT_SHORT: &str = "the process ended before the run did; the next one does the rest";
/// Runs that are kept in the history.
const KEPT_RUNS: i64 = 1000;

/// Begins a run. Durable: what it archives names it. With its audit row where a person asked for it.
#[derive(Debug, Clone)]
pub struct BeginHygiene {
    pub id: HygieneRunId,
    pub by: ActorRef,
    /// Milliseconds for which it can be taken back.
    pub undo_ms: i64,
    /// What it begins with: nothing done yet.
    pub report: HygieneReport,
}

impl WriteCommand for BeginHygiene {
    type Output = ();

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        tx.cut_runs_short(CUT_SHORT)?;
        tx.conn.run(
            "INSERT INTO hygiene_runs (id, state, by_label, report, at, undo_until)
             VALUES (?1, 'running', ?2, ?3, ?4, ?5)",
            params![
                self.id,
                self.by.label,
                Json(&self.report),
                tx.now,
                tx.now.plus_millis(self.undo_ms)
            ],
        )?;
        // Whose rows are gone for good or back in place; the memories of the others still name them.
        tx.conn.run(
            "DELETE FROM hygiene_runs WHERE position <= (SELECT max(position) FROM hygiene_runs) - ?1
                AND ended_at IS NOT NULL AND NOT EXISTS (SELECT 1 FROM memories m WHERE m.archived_by = hygiene_runs.id)",
            [KEPT_RUNS],
        )?;
        if self.by.surface == Surface::Engine {
            return Ok(());
        }
        let detail = json!({ "too_much": self.report.too_much });
        tx.audit("hygiene.run", &self.by, None, self.id, &detail)
    }
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HygieneEnd {
    /// It did everything.
    Whole,
    /// It was not begun, because too much would have gone: the next one is due as after a whole one.
    Refused(String),
    /// Something stood in its way, in words: the rest is still due.
    Cut(String),
}

/// Ends a run and tells of it. Durable.
#[derive(Debug, Clone)]
pub struct EndHygiene {
    pub id: HygieneRunId,
    /// How.
    pub end: HygieneEnd,
    /// Bytes by which the file became shorter.
    pub freed_bytes: u64,
    /// Milliseconds it took.
    pub duration_ms: u64,
}

impl WriteCommand for EndHygiene {
    type Output = HygieneRun;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<HygieneRun, StoreError> {
        let (state, note) = match &self.end {
            HygieneEnd::Whole => (HygieneState::Done, None),
            HygieneEnd::Refused(why) | HygieneEnd::Cut(why) => (HygieneState::Stopped, Some(why)),
        };
        tx.tell_run(self.id, |report| report.note = note.cloned())?;
        tx.conn.run(
            "UPDATE hygiene_runs SET state = ?2, freed_bytes = ?3, duration_ms = ?4, ended_at = ?5 WHERE id = ?1",
            params![self.id, state, self.freed_bytes, self.duration_ms, tx.now],
        )?;
        match self.end {
            HygieneEnd::Whole | HygieneEnd::Refused(_) => {
                meta::set_time(tx.conn, "last_hygiene", tx.now)?;
            }
            HygieneEnd::Cut(_) => {}
        }
        // Nothing of them is left: they cannot be taken back any more.
        tx.conn.run(
            "UPDATE hygiene_runs SET state = 'removed', report = json_set(report, '$.memories', json('[]'))
             WHERE state IN ('done', 'stopped') AND undo_until <= ?1 AND archived > 0 AND id <> ?2
                AND NOT EXISTS (SELECT 1 FROM memories m WHERE m.archived_by = hygiene_runs.id)",
            params![tx.now, self.id],
        )?;
        let run = load_run(tx.conn, self.id)?;
        tell(tx, &run)?;
        Ok(run)
    }
}

/// The event of a run. Ids are left out: it is kept for weeks, and whoever needs them reads the run.
pub(crate) fn tell(tx: &mut WriteTx<'_>, run: &HygieneRun) -> Result<(), StoreError> {
    let mut run = run.clone();
    run.report.memories.clear();
    let run = Box::new(run);
    tx.emit(None, None, EventBody::HygieneFinished { run })
}

/// Ends what a process that is gone left under way; whether there was something. Durable.
#[derive(Debug, Clone)]
pub struct CutHygieneShort;

impl WriteCommand for CutHygieneShort {
    type Output = bool;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<bool, StoreError> {
        Ok(tx.cut_runs_short(CUT_SHORT)? > 0)
    }
}

/// Notes the sizes of a day; those noted before on the same day are replaced. Relaxed.
#[derive(Debug, Clone)]
pub struct NoteGrowth {
    /// The sizes.
    pub growth: Growth,
}

impl WriteCommand for NoteGrowth {
    type Output = ();
    const DURABILITY: Durability = Durability::Relaxed;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        let Growth {
            day,
            memories,
            archived,
            vectors,
            sessions,
            continuations,
            database_bytes,
            log_bytes,
            artifact_bytes,
        } = self.growth;
        tx.conn.run(
            "INSERT OR REPLACE INTO growth VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            params![
                day.0,
                memories,
                archived,
                vectors,
                sessions,
                continuations,
                database_bytes,
                log_bytes,
                artifact_bytes
            ],
        )?;
        Ok(())
    }
}
