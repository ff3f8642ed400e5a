//! Taking a run of hygiene back: first the word that it is, then its memories piece by piece, then the end.
//!
//! After the first of these the run is taken back, whatever happens: the next start brings back what is left.

use serde_json::json;

use crate::protocol::enums::HygieneState;
use crate::protocol::hygiene::HygieneRun;
use crate::protocol::ids::HygieneRunId;
use crate::store::command::{Durability, WriteCommand, WriteTx};
use crate::store::commands::run_hygiene::tell;
use crate::store::error::StoreError;
use crate::store::hygiene::CHUNK;
use crate::store::input::ActorRef;
use crate::store::sql::{Statements, params};
use crate::store::tx::hygiene::load_run;

/// Says that a run is taken back. Durable, with its audit row. Nothing it archived can be removed from then on.
#[derive(Debug, Clone)]
pub struct BeginUndo {
    pub id: HygieneRunId,
    /// Who wants it.
    pub by: ActorRef,
}

impl WriteCommand for BeginUndo {
    type Output = ();

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        let run = load_run(tx.conn, self.id)?;
        match run.state {
            HygieneState::Done | HygieneState::Stopped if tx.now < run.undo_until => {}
            HygieneState::Done
            | HygieneState::Stopped
            | HygieneState::Running
            | HygieneState::Undone
            | HygieneState::Removed => {
                return Err(StoreError::rejected(format!(
                    "{} is {} and could be undone until {}",
                    self.id, run.state, run.undo_until
                )));
            }
        }
        tx.conn.run(
            "UPDATE hygiene_runs SET state = 'undone', ended_at = NULL WHERE id = ?1",
            [self.id],
        )?;
        let detail = json!({ "archived": run.report.archived });
        tx.audit("hygiene.undone", &self.by, None, self.id, &detail)
    }
}

/// Brings back memories of a run that is taken back, as many as fit; how many. Relaxed.
#[derive(Debug, Clone)]
pub struct RestoreMemories {
    pub id: HygieneRunId,
    /// Most of them; at most [`CHUNK`].
    pub at_most: usize,
}

impl WriteCommand for RestoreMemories {
    type Output = u64;
    const DURABILITY: Durability = Durability::Relaxed;
    const ALONE: bool = true;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<u64, StoreError> {
        let rows = tx.conn.run(
            "UPDATE memories SET state = archived_from, archived_from = NULL, archived_by = NULL
             WHERE position IN (SELECT position FROM memories WHERE archived_by = ?1 LIMIT ?2)
                AND EXISTS (SELECT 1 FROM hygiene_runs r WHERE r.id = ?1 AND r.state = 'undone')",
            params![self.id, self.at_most.clamp(1, CHUNK) as u64],
        )? as u64;
        crate::crash_point!("hygiene.mid");
        tx.conn.run(
            "UPDATE hygiene_runs SET restored = restored + ?2 WHERE id = ?1",
            params![self.id, rows],
        )?;
        Ok(rows)
    }
}

/// Ends an undo and tells of it. Durable.
#[derive(Debug, Clone)]
pub struct EndUndo {
    pub id: HygieneRunId,
}

impl WriteCommand for EndUndo {
    type Output = HygieneRun;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<HygieneRun, StoreError> {
        let ended = tx.conn.run(
            "UPDATE hygiene_runs SET ended_at = ?2 WHERE id = ?1 AND state = 'undone' AND ended_at IS NULL
                AND NOT EXISTS (SELECT 1 FROM memories m WHERE m.archived_by = ?1)",
            params![self.id, tx.now],
        )?;
        if ended == 0 {
            return Err(StoreError::conflict(format!(
                "the undo of {} is not complete",
                self.id
            )));
        }
        let run = load_run(tx.conn, self.id)?;
        tell(tx, &run)?;
        Ok(run)
    }
}
