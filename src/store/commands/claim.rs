//! Takes up the oldest pending continuation of a session: single flight lives here.

use crate::protocol::ids::SessionId;

/// Takes up a session's oldest pending continuation, unless one is running, the session is paused or the
/// database is quarantined. Relaxed: losing it costs nothing but the claim.
#[derive(Debug, Clone)]
pub struct Claim {
    /// The session.
    pub session_id: SessionId,
    /// Epoch of the caller.
    pub epoch: u64,
}
