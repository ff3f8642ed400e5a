//! Gives free pages of the file back, and notes the end of a sweep.

use crate::store::command::{Durability, WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::schema;

/// Moves pages from the end of the file into free ones and shortens it by at most this many pages (4 KiB each).
/// Relaxed; answers how many pages are still free.
#[derive(Debug, Clone)]
pub struct ReclaimSpace {
    /// Most pages.
    pub pages: u32,
}

impl WriteCommand for ReclaimSpace {
    type Output = u64;
    const DURABILITY: Durability = Durability::Relaxed;
    const ALONE: bool = true;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<u64, StoreError> {
        let mut statement = tx
            .conn
            .prepare(&format!("PRAGMA incremental_vacuum({})", self.pages))?;
        let mut rows = statement.query([])?;
        // One row a page.
        while rows.next()?.is_some() {}
        drop(rows);
        Ok(tx
            .conn
            .query_row("PRAGMA freelist_count", [], |row| row.get(0))?)
    }
}

/// Notes that a sweep has run to its end now. Relaxed.
#[derive(Debug, Clone)]
pub struct NoteSweep;

impl WriteCommand for NoteSweep {
    type Output = ();
    const DURABILITY: Durability = Durability::Relaxed;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        schema::set_meta(tx.conn, "last_sweep", &tx.now.as_millis().to_string())
    }
}
