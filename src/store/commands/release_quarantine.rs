//! Lifts the quarantine of a restored database.

use crate::store::input::ActorRef;

/// Lifts the quarantine. Durable. Does nothing when there is none.
#[derive(Debug, Clone)]
pub struct ReleaseQuarantine {
    /// Who.
    pub by: ActorRef,
}
