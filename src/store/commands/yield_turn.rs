//! Gives a running continuation back without ending it.

use crate::protocol::ids::ContinuationId;

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
}

/// Where a yielded continuation goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum YieldTo {
    /// It is taken up again by itself.
    Pending,
    /// It waits to be resumed.
    Interrupted,
}
