//! Forgets artifacts that nobody refers to any more. Their files go later, and only because this is durable.

use crate::store::command::{Durability, WriteCommand, WriteTx};
use crate::store::commands::sweep_history::{CHUNK, SweepCount};
use crate::store::error::StoreError;
use crate::store::sql::Statements;

/// Removes rows of artifacts without a reference, as many as fit. Durable: were it lost with the power after the file
/// is gone, a row would name nothing.
#[derive(Debug, Clone)]
pub struct SweepArtifacts {
    /// Which.
    pub hashes: Vec<[u8; 32]>,
}

impl WriteCommand for SweepArtifacts {
    type Output = SweepCount;
    const DURABILITY: Durability = Durability::Durable;
    const ALONE: bool = true;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<SweepCount, StoreError> {
        let mut swept = SweepCount::default();
        for hash in self.hashes.iter().take(CHUNK as usize) {
            swept.taken += 1;
            let rows = tx.conn.run(
                "DELETE FROM artifacts WHERE hash = ?1
                    AND NOT EXISTS (SELECT 1 FROM artifact_references r WHERE r.hash = ?1)",
                [hash],
            )? as u64;
            swept.removed += rows;
            swept.rows += rows;
        }
        Ok(swept)
    }
}
