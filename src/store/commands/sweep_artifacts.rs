//! Removes artifacts that nobody refers to any more. Their files go later, and only because this is durable.

use crate::store::command::{Durability, WriteTx};
use crate::store::commands::remove::Removal;
use crate::store::error::StoreError;
use crate::store::sql::Statements;

/// Artifacts without a reference, by hash. Durable: were it lost with the power after the file is gone, a row would name
/// nothing.
#[derive(Debug, Clone)]
pub struct UnusedArtifacts;

impl Removal for UnusedArtifacts {
    type Key = [u8; 32];
    const DURABILITY: Durability = Durability::Durable;

    fn remove(&self, tx: &mut WriteTx<'_>, hash: &[u8; 32]) -> Result<Option<u64>, StoreError> {
        let rows = tx.conn.run(
            "DELETE FROM artifacts WHERE hash = ?1
                AND NOT EXISTS (SELECT 1 FROM artifact_references r WHERE r.hash = ?1)",
            [hash],
        )?;
        Ok((rows > 0).then_some(rows as u64))
    }
}
