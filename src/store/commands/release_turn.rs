//! Gives a running continuation back without ending it.

use crate::protocol::enums::ContinuationState;
use crate::protocol::ids::ContinuationId;
use crate::store::command::{WriteCommand, WriteTx};
use crate::store::error::StoreError;

/// Puts a running continuation down. Durable. To `Pending` only when no call is started.
#[derive(Debug, Clone)]
pub struct Yield {
    pub continuation_id: ContinuationId,
    /// Epoch of the caller.
    pub epoch: u64,
    /// Where to.
    pub to: YieldTo,
    pub reason: String,
    /// Milliseconds of engine time to add.
    pub active_ms: u64,
    /// Text that readers saw of an answer that broke off: kept as a note, never replayed, never sent.
    pub partial: Option<String>,
}

/// Where a yielded continuation goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum YieldTo {
    /// It is taken up again by itself.
    Pending,
    /// It waits to be resumed.
    Interrupted,
}

impl WriteCommand for Yield {
    type Output = ();

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        let mut head = tx.running(self.continuation_id, self.epoch)?;
        tx.add_active(head.id, self.active_ms)?;
        match self.to {
            YieldTo::Pending => {
                tx.nothing_in_flight(&head, ContinuationState::Pending)?;
                tx.requeue(&mut head, &self.reason)
            }
            YieldTo::Interrupted => {
                if let Some(partial) = &self.partial {
                    tx.note(
                        &head,
                        "engine",
                        format!("The answer broke off after:\n{partial}"),
                    )?;
                }
                tx.mark_interrupted(&mut head, &self.reason)
            }
        }
    }
}
