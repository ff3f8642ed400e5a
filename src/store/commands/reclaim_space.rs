//! Gives free pages of the file back, and notes the beginning and the end of a sweep.

use crate::clock::Timestamp;
use crate::store::command::{Durability, WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::meta;
use crate::store::sql::Statements;

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
        // One row a page.
        let vacuum = format!("PRAGMA incremental_vacuum({})", self.pages);
        tx.conn.each(&vacuum, [], |_| Ok(()))?;
        tx.conn.value("PRAGMA freelist_count", [])
    }
}

/// Notes that history from before a time is being removed: from now on nobody takes what is left of it for all of it.
/// Relaxed.
#[derive(Debug, Clone)]
pub struct NoteHistorySweep {
    /// The time.
    pub before: Timestamp,
}

impl WriteCommand for NoteHistorySweep {
    type Output = ();
    const DURABILITY: Durability = Durability::Relaxed;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        let known = meta::time(tx.conn, "history_kept_since")?;
        // A longer retention brings nothing back.
        if known.is_none_or(|known| known < self.before) {
            meta::set_time(tx.conn, "history_kept_since", self.before)?;
        }
        Ok(())
    }
}

/// Notes that a sweep has run to its end now. Relaxed.
#[derive(Debug, Clone)]
pub struct NoteSweep;

impl WriteCommand for NoteSweep {
    type Output = ();
    const DURABILITY: Durability = Durability::Relaxed;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        meta::set_time(tx.conn, "last_sweep", tx.now)
    }
}
