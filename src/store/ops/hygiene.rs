//! The row of a run: it tells at every commit what the run has done so far.

use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::clock::Timestamp;
use crate::protocol::hygiene::{HygieneReport, HygieneRun};
use crate::protocol::ids::HygieneRunId;
use crate::store::command::WriteTx;
use crate::store::error::StoreError;
use crate::store::rows::{json, to_json, word};

/// Columns of a run, as [`run_of`] reads them.
pub(crate) const RUN: &str = "SELECT position, id, state, by_label, report, restored, freed_bytes, duration_ms, at, undo_until
    FROM hygiene_runs";

/// A row of [`RUN`].
pub(crate) fn run_of(row: &Row<'_>) -> rusqlite::Result<HygieneRun> {
    Ok(HygieneRun {
        id: HygieneRunId::from_bytes(row.get(1)?),
        state: word(row, 2)?,
        by: row.get(3)?,
        report: json(row, 4)?,
        restored: row.get(5)?,
        freed_bytes: row.get(6)?,
        duration_ms: row.get(7)?,
        at: Timestamp(row.get(8)?),
        undo_until: Timestamp(row.get(9)?),
    })
}

/// One run.
pub(crate) fn load_run(conn: &Connection, id: HygieneRunId) -> Result<HygieneRun, StoreError> {
    conn.prepare_cached(&format!("{RUN} WHERE id = ?1"))?
        .query_row([id.to_bytes()], run_of)
        .optional()?
        .ok_or_else(|| StoreError::not_found("run of hygiene", id))
}

impl WriteTx<'_> {
    /// Changes what a run that is under way says it did.
    pub(crate) fn tell_run(
        &self,
        id: HygieneRunId,
        change: impl FnOnce(&mut HygieneReport),
    ) -> Result<(), StoreError> {
        let mut report: HygieneReport = self
            .conn
            .prepare_cached("SELECT report FROM hygiene_runs WHERE id = ?1 AND state = 'running'")?
            .query_row([id.to_bytes()], |row| json(row, 0))
            .optional()?
            .ok_or_else(|| StoreError::conflict(format!("{id} is not under way")))?;
        change(&mut report);
        self.conn
            .prepare_cached("UPDATE hygiene_runs SET report = ?2, archived = ?3 WHERE id = ?1")?
            .execute(params![id.to_bytes(), to_json(&report)?, report.archived])?;
        Ok(())
    }

    /// Ends every run that is under way as cut short.
    pub(crate) fn cut_runs_short(&self, note: &str) -> Result<u64, StoreError> {
        Ok(self
            .conn
            .prepare_cached(
                "UPDATE hygiene_runs SET state = 'stopped', ended_at = ?1, report = json_set(report, '$.note', ?2)
                 WHERE state = 'running'",
            )?
            .execute(params![self.now.as_millis(), note])? as u64)
    }
}
