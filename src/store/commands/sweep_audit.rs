//! Puts the oldest part of the audit aside: first the record that it goes and what the chain goes on from, then it.

use crate::store::audit::{PRUNED, Segment};
use crate::store::audit_chain::AuditHead;
use crate::store::command::{Durability, WriteCommand, WriteTx};
use crate::store::commands::remove::{CHUNK, RemovedCount};
use crate::store::error::StoreError;
use crate::store::input::ActorRef;
use crate::store::sql::{Statements, params};

/// Says that the rows `from..=to` are archived. Durable, before any of them is removed.
#[derive(Debug, Clone)]
pub struct PruneAudit {
    /// First row.
    pub from: u64,
    /// Last row.
    pub to: u64,
    pub by: ActorRef,
}

impl WriteCommand for PruneAudit {
    type Output = ();

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        let expected = Segment::newest(tx.conn)?.map_or(0, |segment| segment.to_seq) + 1;
        let end = AuditHead::load(tx.conn)?.seq;
        if self.from != expected || self.to < self.from || self.to >= end {
            return Err(StoreError::bug(format!(
                "rows {} to {} of the audit cannot be archived: it begins with row {expected} and ends with row {end}, \
                 which stays",
                self.from, self.to
            )));
        }
        let hash: Option<[u8; 32]> = tx
            .conn
            .value_opt("SELECT hash FROM audit WHERE seq = ?1", [self.to])?;
        let Some(hash) = hash else {
            return Err(StoreError::Corrupt(format!(
                "row {} of the audit is missing",
                self.to
            )));
        };
        tx.conn.run(
            "INSERT INTO audit_segments (to_seq, from_seq, hash, at) VALUES (?1, ?2, ?3, ?4)",
            params![self.to, self.from, hash, tx.now],
        )?;
        tx.audit(
            PRUNED,
            &self.by,
            None,
            "audit",
            &Segment::detail(self.from, self.to, hash),
        )
    }
}

/// Removes rows of the part that was archived, as many as fit. Relaxed.
#[derive(Debug, Clone)]
pub struct SweepAudit;

impl WriteCommand for SweepAudit {
    type Output = RemovedCount;
    const DURABILITY: Durability = Durability::Relaxed;
    const ALONE: bool = true;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<RemovedCount, StoreError> {
        let Some(segment) = Segment::newest(tx.conn)? else {
            return Ok(RemovedCount::default());
        };
        let rows = tx.conn.run(
            "DELETE FROM audit WHERE seq IN (SELECT seq FROM audit WHERE seq <= ?1 ORDER BY seq LIMIT ?2)",
            params![segment.to_seq, CHUNK],
        )?;
        Ok(RemovedCount::of_rows(rows))
    }
}
