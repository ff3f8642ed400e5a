//! Routines and their runs.

use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::clock::Timestamp;
use crate::protocol::ids::{ContinuationId, RoutineId, RoutineRunId};
use crate::protocol::routine::{Routine, RoutineRun};
use crate::protocol::snapshot::{Page, PageRequest};
use crate::store::error::StoreError;
use crate::store::queries::page::{page_limit, page_of, page_start};
use crate::store::reader::Reader;
use crate::store::rows::{json, word, word_opt};

/// Routines looked at by the scheduler at once.
const BATCH: u32 = 32;

const ROUTINE: &str = "SELECT id, name, schedule, time_zone, prompt, channel, conversation, model, budgets,
        autonomy_ceiling, park, missed, jitter_seconds, enabled, by_label, version, due_at, begin_at, created_at,
        updated_at
     FROM routines";

const RUN: &str = "SELECT r.position, r.id, r.routine_id, r.state, r.detail, r.continuation_id, c.state, r.due_at, r.at
     FROM routine_runs r LEFT JOIN continuations c ON c.id = r.continuation_id";

fn routine_row(row: &Row<'_>) -> rusqlite::Result<Routine> {
    let time = |index| row.get::<_, Option<i64>>(index).map(|at| at.map(Timestamp));
    Ok(Routine {
        id: RoutineId::from_bytes(row.get(0)?),
        name: row.get(1)?,
        schedule: row.get(2)?,
        time_zone: row.get(3)?,
        prompt: row.get(4)?,
        channel: row.get(5)?,
        conversation: row.get(6)?,
        model: row.get(7)?,
        budgets: json(row, 8)?,
        autonomy_ceiling: word(row, 9)?,
        park: row.get(10)?,
        missed: word(row, 11)?,
        jitter_seconds: row.get(12)?,
        enabled: row.get(13)?,
        by: row.get(14)?,
        version: row.get(15)?,
        due_at: time(16)?,
        begin_at: time(17)?,
        last_run: None,
        created_at: Timestamp(row.get(18)?),
        updated_at: Timestamp(row.get(19)?),
    })
}

fn run_row(row: &Row<'_>) -> rusqlite::Result<(i64, RoutineRun)> {
    let run = RoutineRun {
        id: RoutineRunId::from_bytes(row.get(1)?),
        routine_id: RoutineId::from_bytes(row.get(2)?),
        state: word(row, 3)?,
        detail: row.get(4)?,
        continuation_id: row
            .get::<_, Option<[u8; 16]>>(5)?
            .map(ContinuationId::from_bytes),
        continuation_state: word_opt(row, 6)?,
        due_at: row.get::<_, Option<i64>>(7)?.map(Timestamp),
        at: Timestamp(row.get(8)?),
    };
    Ok((row.get(0)?, run))
}

fn with_last_run(conn: &Connection, mut routine: Routine) -> Result<Routine, StoreError> {
    routine.last_run = conn
        .prepare_cached(&format!(
            "{RUN} WHERE r.routine_id = ?1 ORDER BY r.position DESC LIMIT 1"
        ))?
        .query_row([routine.id.to_bytes()], run_row)
        .optional()?
        .map(|(_, run)| run);
    Ok(routine)
}

/// One routine.
pub(crate) fn load_routine(conn: &Connection, id: RoutineId) -> Result<Routine, StoreError> {
    let routine = conn
        .prepare_cached(&format!("{ROUTINE} WHERE id = ?1"))?
        .query_row([id.to_bytes()], routine_row)
        .optional()?
        .ok_or_else(|| StoreError::not_found("routine", id))?;
    with_last_run(conn, routine)
}

/// The routine of this name.
pub(crate) fn find_routine(conn: &Connection, name: &str) -> Result<Option<RoutineId>, StoreError> {
    Ok(conn
        .prepare_cached("SELECT id FROM routines WHERE name = ?1")?
        .query_row([name], |row| row.get(0).map(RoutineId::from_bytes))
        .optional()?)
}

/// The run that became this turn.
pub(crate) fn run_of_turn(
    conn: &Connection,
    turn: ContinuationId,
) -> Result<Option<RoutineRun>, StoreError> {
    Ok(conn
        .prepare_cached(&format!("{RUN} WHERE r.continuation_id = ?1"))?
        .query_row([turn.to_bytes()], run_row)
        .optional()?
        .map(|(_, run)| run))
}

impl Reader<'_> {
    /// All routines, by name.
    pub fn routines(&self) -> Result<Vec<Routine>, StoreError> {
        let found: Vec<Routine> = self
            .conn
            .prepare_cached(&format!("{ROUTINE} ORDER BY name"))?
            .query_map([], routine_row)?
            .collect::<rusqlite::Result<_>>()?;
        found
            .into_iter()
            .map(|routine| with_last_run(self.conn, routine))
            .collect()
    }

    /// One routine, by id or name.
    pub fn routine(&self, wanted: &str) -> Result<Routine, StoreError> {
        let id = match wanted.parse::<RoutineId>() {
            Ok(id) => Some(id),
            Err(_) => find_routine(self.conn, wanted)?,
        };
        match id {
            Some(id) => load_routine(self.conn, id),
            None => Err(StoreError::not_found(
                "routine",
                wanted.chars().take(64).collect::<String>(),
            )),
        }
    }

    /// Runs of a routine, newest first.
    pub fn routine_runs(
        &self,
        id: RoutineId,
        page: &PageRequest,
    ) -> Result<Page<RoutineRun>, StoreError> {
        let limit = page_limit(page);
        let rows = self
            .conn
            .prepare_cached(&format!(
                "{RUN} WHERE r.routine_id = ?1 AND r.position < ?2 ORDER BY r.position DESC LIMIT ?3"
            ))?
            .query_map(
                params![id.to_bytes(), page_start(page, i64::MAX)?, limit + 1],
                run_row,
            )?
            .collect::<rusqlite::Result<Vec<_>>>()?;
        Ok(page_of(rows, limit))
    }

    /// The routines that begin next, soonest first; a few dozen at most.
    pub fn next_routines(&self) -> Result<Vec<Routine>, StoreError> {
        Ok(self
            .conn
            .prepare_cached(&format!(
                "{ROUTINE} WHERE begin_at IS NOT NULL ORDER BY begin_at, position LIMIT {BATCH}"
            ))?
            .query_map([], routine_row)?
            .collect::<rusqlite::Result<_>>()?)
    }
}
