//! Removes old events. Whoever follows from before gets a reset.

use rusqlite::params;

use crate::store::command::{Durability, WriteCommand, WriteTx};
use crate::store::commands::sweep_history::{CHUNK, Swept};
use crate::store::error::StoreError;
use crate::store::schema;

/// Removes the oldest events up to a number, as many as fit; never the newest one. Relaxed.
#[derive(Debug, Clone)]
pub struct SweepEvents {
    /// Number of the last one that may go.
    pub to: u64,
}

impl WriteCommand for SweepEvents {
    type Output = Swept;
    const DURABILITY: Durability = Durability::Relaxed;
    const ALONE: bool = true;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<Swept, StoreError> {
        let last: Option<u64> = tx
            .conn
            .prepare_cached(
                "SELECT max(seq) FROM (SELECT seq FROM events WHERE seq <= ?1 AND seq < (SELECT max(seq) FROM events)
                 ORDER BY seq LIMIT ?2)",
            )?
            .query_row(params![self.to, CHUNK], |row| row.get(0))?;
        let Some(last) = last else {
            return Ok(Swept::default());
        };
        let rows = tx
            .conn
            .prepare_cached("DELETE FROM events WHERE seq <= ?1")?
            .execute([last])? as u64;
        schema::set_meta(tx.conn, "events_pruned", &last.to_string())?;
        Ok(Swept {
            taken: 1,
            removed: rows,
            rows,
        })
    }
}
