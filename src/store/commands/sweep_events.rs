//! Removes old events. Whoever follows from before gets a reset.

use crate::store::command::{Durability, WriteCommand, WriteTx};
use crate::store::commands::remove::{CHUNK, RemovedCount};
use crate::store::error::StoreError;
use crate::store::meta;
use crate::store::sql::{Statements, params};

/// Removes the oldest events up to a number, as many as fit; never the newest one. Relaxed.
#[derive(Debug, Clone)]
pub struct SweepEvents {
    /// Number of the last one that may go.
    pub to: u64,
}

impl WriteCommand for SweepEvents {
    type Output = RemovedCount;
    const DURABILITY: Durability = Durability::Relaxed;
    const ALONE: bool = true;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<RemovedCount, StoreError> {
        let last: Option<u64> = tx.conn.value(
            "SELECT max(seq) FROM (SELECT seq FROM events WHERE seq <= ?1 AND seq < (SELECT max(seq) FROM events)
             ORDER BY seq LIMIT ?2)",
            params![self.to, CHUNK],
        )?;
        let Some(last) = last else {
            return Ok(RemovedCount::default());
        };
        let rows = tx.conn.run("DELETE FROM events WHERE seq <= ?1", [last])?;
        meta::set(tx.conn, "events_pruned", &last.to_string())?;
        Ok(RemovedCount::of_rows(rows))
    }
}
