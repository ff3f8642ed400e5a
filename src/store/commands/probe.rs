//! Shows that the disk takes a write: changes a row that means nothing, durably.

use crate::store::command::{WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::meta;

/// Tried while the database cannot be written; its success ends [`crate::store::Store::problem`]. Durable.
#[derive(Debug, Clone, Copy)]
pub struct Probe;

impl WriteCommand for Probe {
    type Output = ();

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        meta::set_time(tx.conn, "probed_at", tx.now)
    }
}
