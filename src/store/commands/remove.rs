//! Removes what was found by its key, in pieces: the one loop under everything that does so.

use crate::store::command::{Durability, WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::sql::Connection;

/// Most rows that one command removes. A thing with more than that is removed alone.
pub const CHUNK: u64 = 500;

/// What one command did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RemovedCount {
    /// How many of the keys it was given it looked at; the others fit no more.
    pub taken: usize,
    /// Things removed.
    pub removed: u64,
    /// Rows removed.
    pub rows: u64,
}

impl RemovedCount {
    /// Of a command that has no keys: each row is a thing.
    pub(crate) fn of_rows(rows: usize) -> Self {
        Self {
            taken: 1,
            removed: rows as u64,
            rows: rows as u64,
        }
    }
}

/// How deleted content is treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deletion {
    /// Pages that are given back may still hold it.
    Plain,
    /// Overwritten wherever it was: it must not be found on the disk.
    Overwriting,
}

/// A kind of thing that is removed, and when one may go.
pub trait Removal: Clone + Send + 'static {
    /// What names one.
    type Key: Clone + Send + 'static;
    /// Relaxed: what a power loss brings back is found and removed again.
    const DURABILITY: Durability = Durability::Relaxed;
    /// How its content is deleted.
    const DELETION: Deletion = Deletion::Plain;

    /// Rows that one takes of a piece.
    fn cost(&self, _tx: &WriteTx<'_>, _key: &Self::Key) -> Result<u64, StoreError> {
        Ok(1)
    }

    /// Removes one with everything that hangs on it; the rows removed. None = it may not go: it changed since it was
    /// found.
    fn remove(&self, tx: &mut WriteTx<'_>, key: &Self::Key) -> Result<Option<u64>, StoreError>;
}

/// Removes things in the given order, as many as fit.
#[derive(Debug, Clone)]
pub struct Remove<R: Removal> {
    /// What they are.
    pub what: R,
    pub keys: Vec<R::Key>,
}

impl<R: Removal> WriteCommand for Remove<R> {
    type Output = RemovedCount;
    const DURABILITY: Durability = R::DURABILITY;
    const ALONE: bool = true;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<RemovedCount, StoreError> {
        let _overwriting = match R::DELETION {
            Deletion::Plain => None,
            Deletion::Overwriting => Some(Overwriting::begin(tx)?),
        };
        let (mut count, mut spent) = (RemovedCount::default(), 0);
        for key in &self.keys {
            spent += self.what.cost(tx, key)?;
            if count.taken > 0 && spent > CHUNK {
                break;
            }
            count.taken += 1;
            if let Some(rows) = self.what.remove(tx, key)? {
                count.removed += 1;
                count.rows += rows;
            }
        }
        Ok(count)
    }
}

/// Overwrites what is deleted, wherever it was, for as long as this lives: otherwise only what costs nothing more is.
pub(crate) struct Overwriting<'a>(&'a Connection);

impl<'a> Overwriting<'a> {
    pub(crate) fn begin(tx: &WriteTx<'a>) -> Result<Self, StoreError> {
        tx.conn.pragma_update(None, "secure_delete", true)?;
        Ok(Self(tx.conn))
    }
}

impl Drop for Overwriting<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.0.pragma_update(None, "secure_delete", "FAST") {
            tracing::warn!(%error, "deleted content goes on being overwritten; deleting is slower");
        }
    }
}
