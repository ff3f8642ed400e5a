//! Parks a running continuation on its gates.

use crate::protocol::enums::ContinuationState;
use crate::protocol::ids::ContinuationId;
use crate::store::command::{WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::input::NewNotice;

/// Parks a continuation. Durable. Refused while a call is started.
#[derive(Debug, Clone)]
pub struct Park {
    pub continuation_id: ContinuationId,
    /// Epoch of the caller.
    pub epoch: u64,
    /// Milliseconds of engine time to add.
    pub active_ms: u64,
    /// Words to the chat, sent only when it parks.
    pub notices: Vec<NewNotice>,
}

/// Whether there was something to wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParkOutcome {
    /// It now awaits approval.
    Waiting,
    /// Every gate was decided meanwhile; it is still running.
    NothingToWaitFor,
}

impl WriteCommand for Park {
    type Output = ParkOutcome;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<ParkOutcome, StoreError> {
        let mut head = tx.running(self.continuation_id, self.epoch)?;
        tx.nothing_in_flight(&head, ContinuationState::AwaitingApproval)?;
        tx.add_active(head.id, self.active_ms)?;
        let pending = tx.pending_gates(head.id)?;
        if pending == 0 {
            return Ok(ParkOutcome::NothingToWaitFor);
        }
        tx.await_approval(&mut head, pending)?;
        tx.queue_notices(&self.notices)?;
        Ok(ParkOutcome::Waiting)
    }

    fn committed(&self) {
        crate::crash_point!("park.post");
    }
}
