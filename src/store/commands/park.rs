//! Parks a running continuation on its gates.

use crate::protocol::ids::ContinuationId;
use crate::store::input::NewNotice;

/// Parks a continuation. Durable. Refused while a call is started.
#[derive(Debug, Clone)]
pub struct Park {
    /// The continuation.
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
pub enum Parked {
    /// It now awaits approval.
    Waiting,
    /// Every gate was decided meanwhile; it is still running.
    NothingToWaitFor,
}
