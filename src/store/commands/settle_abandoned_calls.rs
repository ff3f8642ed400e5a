//! Settles model calls that were given up.

use crate::protocol::ids::ContinuationId;
use crate::store::command::{WriteCommand, WriteTx};
use crate::store::error::StoreError;

/// Settles what is open of a continuation at its estimates, whatever became of the continuation. Durable. Answers how
/// many calls there were.
#[derive(Debug, Clone)]
pub struct SettleAbandonedCalls {
    /// The continuation, of which this process listens to no call any more.
    pub continuation_id: ContinuationId,
    /// Why nobody listens, for people.
    pub reason: String,
}

impl WriteCommand for SettleAbandonedCalls {
    type Output = u64;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<u64, StoreError> {
        match tx.head(self.continuation_id) {
            Ok(head) => tx.settle_abandoned_calls(&head, &self.reason),
            // Whoever removed it settled its calls.
            Err(StoreError::NotFound { .. }) => Ok(0),
            Err(error) => Err(error),
        }
    }
}
