//! Ends a session and cancels what is open in it.

use crate::protocol::ids::SessionId;
use crate::store::input::ActorRef;

/// Ends a session. Durable; answers the continuations cancelled with it. Ending an ended one changes nothing.
#[derive(Debug, Clone)]
pub struct EndSession {
    /// Which one.
    pub session_id: SessionId,
    /// Why.
    pub reason: String,
    /// Who.
    pub by: ActorRef,
}
