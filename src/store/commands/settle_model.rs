//! Settles a model call that failed.

use crate::protocol::event::EventBody;
use crate::protocol::ids::ModelAttemptId;
use crate::protocol::session::Usage;
use crate::store::command::{WriteCommand, WriteTx};
use crate::store::error::StoreError;

/// Settles a failed try. Durable. Settling twice is refused.
#[derive(Debug, Clone)]
pub struct SettleModel {
    /// The try.
    pub attempt_id: ModelAttemptId,
    /// What it really used.
    pub usage: Usage,
    /// What went wrong, redacted.
    pub error: Option<String>,
    /// Milliseconds of model and engine time.
    pub active_ms: u64,
}

impl WriteCommand for SettleModel {
    type Output = ();

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        let head = tx.head(tx.attempt(self.attempt_id)?.continuation_id)?;
        let attempt = tx.settle_attempt(
            self.attempt_id,
            head.session_id,
            self.usage,
            self.error.as_deref(),
        )?;
        tx.add_active(head.id, self.active_ms)?;
        // Money counts whatever became of the continuation; news about it does not.
        if head.state.is_terminal() {
            return Ok(());
        }
        tx.emit_turn(
            &head,
            EventBody::ModelFinished {
                model: attempt.model,
                step: attempt.step,
                usage: self.usage,
                latency_ms: self.active_ms,
                error: self.error.clone(),
                stop: None,
                answered_by: None,
                notes: Vec::new(),
            },
        )
    }
}
