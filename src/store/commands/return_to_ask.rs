//! Makes a call that was ready or approved ask (again).

use crate::protocol::ids::ToolCallId;
use crate::store::input::{NewApproval, NewCallFacts};

/// The policy became stricter or the plan changed before the start. Durable. An old approval is revoked.
#[derive(Debug, Clone)]
pub struct ReturnToAsk {
    /// The call.
    pub call_id: ToolCallId,
    /// Epoch of the caller.
    pub epoch: u64,
    /// The new question.
    pub approval: NewApproval,
    /// Why.
    pub reason: String,
    /// The call as it is now.
    pub call: NewCallFacts,
}
