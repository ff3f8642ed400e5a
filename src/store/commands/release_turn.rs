//! Gives a running continuation back without ending it.

use crate::protocol::enums::ContinuationState;
use crate::protocol::event::EventBody;
use crate::protocol::ids::ContinuationId;
use crate::protocol::session::ErrorBody;
use crate::store::command::{Durability, WriteCommand, WriteTx};
use crate::store::error::StoreError;

/// Puts a running continuation down. Durable. To `Pending` only when no call is started.
#[derive(Debug, Clone)]
pub struct Yield {
    /// The continuation.
    pub continuation_id: ContinuationId,
    /// Epoch of the caller.
    pub epoch: u64,
    /// Where to.
    pub to: YieldTo,
    /// Why.
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
    const DURABILITY: Durability = Durability::Durable;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        let mut head = tx.running(self.continuation_id, self.epoch)?;
        tx.add_active(head.id, self.active_ms)?;
        match self.to {
            YieldTo::Pending => {
                if let Some(call) = tx.started_calls(head.id)?.first() {
                    return Err(StoreError::bug(format!(
                        "continuation {} cannot go from running to pending while tool call {call} is started",
                        head.id
                    )));
                }
                tx.move_continuation(&mut head, ContinuationState::Pending, None)?;
                tx.emit(
                    Some(head.session_id),
                    Some(head.id),
                    EventBody::ContinuationResumed {
                        by: self.reason.clone(),
                    },
                )
            }
            YieldTo::Interrupted => {
                if let Some(partial) = &self.partial {
                    tx.note(
                        &head,
                        "engine",
                        format!("The answer broke off after:\n{partial}"),
                    )?;
                }
                tx.move_continuation(
                    &mut head,
                    ContinuationState::Interrupted,
                    Some(&ErrorBody {
                        code: "interrupted".to_owned(),
                        message: self.reason.clone(),
                    }),
                )?;
                tx.emit(
                    Some(head.session_id),
                    Some(head.id),
                    EventBody::ContinuationInterrupted {
                        reason: self.reason.clone(),
                    },
                )
            }
        }
    }
}
