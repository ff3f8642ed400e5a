//! The invariants of DESIGN.md that the database alone can show.

use crate::store::error::StoreError;
use crate::store::reader::Reader;

/// A broken invariant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Its name in DESIGN.md: `I4`.
    pub invariant: &'static str,
    /// What is wrong, with ids.
    pub detail: String,
}

/// Every violation found; empty = sound.
pub fn check(reader: &Reader<'_>) -> Result<Vec<Violation>, StoreError> {
    let _ = reader;
    Err(StoreError::Closed)
}
