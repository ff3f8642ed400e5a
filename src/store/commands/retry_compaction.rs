//! Settles a compaction's answer that could not be used, and reserves the call that asks once more.

use crate::protocol::ids::{CompactionId, ModelAttemptId};
use crate::protocol::session::Usage;
use crate::store::command::{WriteCommand, WriteTx};
use crate::store::commands::reserve_model::Reservation;
use crate::store::error::StoreError;
use crate::store::input::CompactionCall;

/// Asks once more. Durable. The first answer is settled also where a budget forbids the second call.
#[derive(Debug, Clone)]
pub struct RetryCompaction {
    pub id: CompactionId,
    /// Epoch of the caller.
    pub epoch: u64,
    /// The call that was made.
    pub attempt_id: ModelAttemptId,
    /// What it used.
    pub usage: Usage,
    /// What was wrong with its answer, redacted.
    pub error: String,
    /// The next call.
    pub call: CompactionCall,
}

impl WriteCommand for RetryCompaction {
    type Output = Reservation;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<Reservation, StoreError> {
        let compaction = tx.running_compaction(self.id, self.epoch)?;
        tx.settle_attempt(
            self.attempt_id,
            compaction.session_id,
            self.usage,
            Some(&self.error),
        )?;
        tx.reserve_for_compaction(compaction.session_id, &self.call, 2)
    }
}
