//! Sums of tokens and money.

use crate::clock::Timestamp;
use crate::protocol::session::Usage;
use crate::store::error::StoreError;
use crate::store::reader::Reader;

impl Reader<'_> {
    /// Usage of model calls reserved since this time; calls under way count with their estimate.
    pub fn usage_since(&self, since: Timestamp) -> Result<Usage, StoreError> {
        Err(StoreError::Closed)
    }
}
