//! Lets an interrupted continuation go on.

use crate::protocol::ids::ContinuationId;
use crate::store::input::ActorRef;

/// Resumes an interrupted continuation: to pending, or to awaiting_approval while a gate waits. Durable.
#[derive(Debug, Clone)]
pub struct Resume {
    /// Which one.
    pub continuation_id: ContinuationId,
    /// Who.
    pub by: ActorRef,
}
