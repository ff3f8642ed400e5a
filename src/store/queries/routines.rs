//! Routines and their runs.

use crate::protocol::ids::{ContinuationId, RoutineId};
use crate::protocol::routine::{Routine, RoutineRun};
use crate::protocol::snapshot::{Page, PageRequest};
use crate::store::error::StoreError;
use crate::store::queries::page::read_page;
use crate::store::reader::Reader;
use crate::store::sql::{Connection, Row, Statements, columns, params};

/// Routines looked at by the scheduler at once.
const BATCH: u32 = 32;

const ROUTINE: &str = "SELECT id, name, schedule, time_zone, prompt, channel, conversation, model, budgets,
        autonomy_ceiling, park, missed, jitter_seconds, enabled, by_label, version, due_at, begin_at, created_at,
        updated_at
     FROM routines";

const RUN: &str = "SELECT r.position, r.id, r.routine_id, r.state, r.detail, r.continuation_id,
        c.state AS continuation_state, r.due_at, r.at
     FROM routine_runs r LEFT JOIN continuations c ON c.id = r.continuation_id";

fn routine_row(row: &Row<'_>) -> Result<Routine, StoreError> {
    Ok(columns!(row => Routine {
        id, name, schedule, time_zone, prompt, channel, conversation, model, autonomy_ceiling, park,
        missed, jitter_seconds, enabled, by = "by_label", version, due_at, begin_at, created_at,
        updated_at;
        budgets: row.json("budgets")?,
        last_run: None,
    }))
}

fn run_row(row: &Row<'_>) -> Result<(i64, RoutineRun), StoreError> {
    let run = columns!(row => RoutineRun {
        id, routine_id, state, detail, continuation_id, continuation_state, due_at, at,
    });
    Ok((row.get("position")?, run))
}

fn with_last_run(conn: &Connection, mut routine: Routine) -> Result<Routine, StoreError> {
    routine.last_run = conn
        .row_opt(
            &format!("{RUN} WHERE r.routine_id = ?1 ORDER BY r.position DESC LIMIT 1"),
            [routine.id],
            run_row,
        )?
        .map(|(_, run)| run);
    Ok(routine)
}

/// One routine.
pub(crate) fn load_routine(conn: &Connection, id: RoutineId) -> Result<Routine, StoreError> {
    let routine = conn
        .row_opt(&format!("{ROUTINE} WHERE id = ?1"), [id], routine_row)?
        .ok_or_else(|| StoreError::not_found("routine", id))?;
    with_last_run(conn, routine)
}

/// The routine of this name.
pub(crate) fn find_routine(conn: &Connection, name: &str) -> Result<Option<RoutineId>, StoreError> {
    conn.value_opt::<RoutineId>("SELECT id FROM routines WHERE name = ?1", [name])
}

/// The run that became this turn.
pub(crate) fn run_of_turn(
    conn: &Connection,
    turn: ContinuationId,
) -> Result<Option<RoutineRun>, StoreError> {
    Ok(conn
        .row_opt(
            &format!("{RUN} WHERE r.continuation_id = ?1"),
            [turn],
            run_row,
        )?
        .map(|(_, run)| run))
}

impl Reader<'_> {
    /// All routines, by name.
    pub fn routines(&self) -> Result<Vec<Routine>, StoreError> {
        let found: Vec<Routine> =
            self.conn
                .rows(&format!("{ROUTINE} ORDER BY name"), [], routine_row)?;
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
        let runs = format!(
            "{RUN} WHERE r.routine_id = ?1 AND r.position < ?2 ORDER BY r.position DESC LIMIT ?3"
        );
        read_page(page, i64::MAX, |before, most| {
            self.conn.rows(&runs, params![id, before, most], run_row)
        })
    }

    /// The routines that begin next, soonest first; a few dozen at most.
    pub fn next_routines(&self) -> Result<Vec<Routine>, StoreError> {
        self.conn.rows(
            &format!(
                "{ROUTINE} WHERE begin_at IS NOT NULL ORDER BY begin_at, position LIMIT {BATCH}"
            ),
            [],
            routine_row,
        )
    }
}
