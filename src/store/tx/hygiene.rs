//! The row of a run: it tells at every commit what the run has done so far.

use crate::protocol::hygiene::{HygieneReport, HygieneRun};
use crate::protocol::ids::HygieneRunId;
use crate::store::command::WriteTx;
use crate::store::error::StoreError;
use crate::store::sql::{Connection, Json, Row, Statements, columns, params};

/// Columns of a run, as [`run_of`] reads them.
pub(crate) const RUN: &str = "SELECT position, id, state, by_label, report, restored, freed_bytes, duration_ms, at, undo_until
    FROM hygiene_runs";

/// A row of [`RUN`].
pub(crate) fn run_of(row: &Row<'_>) -> Result<HygieneRun, StoreError> {
    Ok(columns!(row => HygieneRun {
        id, state, by = "by_label", restored, freed_bytes, duration_ms, at, undo_until;
        report: row.json("report")?,
    }))
}

/// One run.
pub(crate) fn load_run(conn: &Connection, id: HygieneRunId) -> Result<HygieneRun, StoreError> {
    conn.row_opt(&format!("{RUN} WHERE id = ?1"), [id], run_of)?
        .ok_or_else(|| StoreError::not_found("hygiene run", id))
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
            .row_opt(
                "SELECT report FROM hygiene_runs WHERE id = ?1 AND state = 'running'",
                [id],
                |row| row.json("report"),
            )?
            .ok_or_else(|| StoreError::conflict(format!("{id} is not under way")))?;
        change(&mut report);
        self.conn.run(
            "UPDATE hygiene_runs SET report = ?2, archived = ?3 WHERE id = ?1",
            params![id, Json(&report), report.archived],
        )?;
        Ok(())
    }

    /// Ends every run that is under way as cut short.
    pub(crate) fn cut_runs_short(&self, note: &str) -> Result<u64, StoreError> {
        Ok(self.conn.run(
            "UPDATE hygiene_runs SET state = 'stopped', ended_at = ?1, report = json_set(report, '$.note', ?2)
             WHERE state = 'running'",
            params![self.now, note],
        )? as u64)
    }
}
