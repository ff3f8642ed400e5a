//! Counts that remembered things went into a context.

use crate::protocol::ids::MemoryId;
use crate::store::command::{Durability, WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::sql::{Statements, params};

/// Counts one use of each. Relaxed; one that is gone is passed over.
#[derive(Debug, Clone)]
pub struct RecordMemoryUse {
    pub ids: Vec<MemoryId>,
}

impl WriteCommand for RecordMemoryUse {
    type Output = ();
    const DURABILITY: Durability = Durability::Relaxed;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        for id in &self.ids {
            tx.conn.run(
                "UPDATE memories SET uses = uses + 1, last_used_at = ?2 WHERE id = ?1",
                params![id, tx.now],
            )?;
        }
        Ok(())
    }
}
