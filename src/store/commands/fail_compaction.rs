//! Ends a compaction that changed nothing.

use crate::protocol::enums::CompactionState;
use crate::protocol::ids::{CompactionId, ModelAttemptId};
use crate::protocol::memory::Compaction;
use crate::protocol::session::Usage;
use crate::store::command::{WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::queries::compactions::load_compaction;

/// Ends a compaction as failed and settles its open call. Durable: money counts, also where something else ended it
/// meanwhile, which then stands.
#[derive(Debug, Clone)]
pub struct FailCompaction {
    pub id: CompactionId,
    /// Epoch of the caller.
    pub epoch: u64,
    /// Its open call and what that used, where there is one.
    pub call: Option<(ModelAttemptId, Usage)>,
    /// Why, for people, redacted.
    pub error: String,
}

impl WriteCommand for FailCompaction {
    type Output = Compaction;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<Compaction, StoreError> {
        tx.same_epoch(self.epoch)?;
        let compaction = load_compaction(tx.conn, self.id)?;
        if let Some((attempt, usage)) = self.call {
            match tx.settle_attempt(attempt, compaction.session_id, usage, Some(&self.error)) {
                // Whoever removed its turn settled it.
                Ok(_) | Err(StoreError::NotFound { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        if compaction.state == CompactionState::Running {
            return tx.fail_compaction(self.id, &self.error);
        }
        Ok(compaction)
    }
}
