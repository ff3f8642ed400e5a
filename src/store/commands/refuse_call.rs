//! Refuses a call that had not started: its plan became impossible or the policy stricter.

use crate::protocol::ids::ToolCallId;

/// A ready or approved call gets a denied result instead of a start. Durable. Its approval is revoked.
#[derive(Debug, Clone)]
pub struct RefuseCall {
    /// The call.
    pub call_id: ToolCallId,
    /// Epoch of the caller.
    pub epoch: u64,
    /// What the model reads.
    pub content: String,
}
