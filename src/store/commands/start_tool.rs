//! Writes the intent of a tool call before its effect, and consumes its approval.

use crate::protocol::ids::ToolCallId;
use crate::protocol::words::ToolCallState;

/// Starts a call. Durable: execute only after `Started`.
#[derive(Debug, Clone)]
pub struct StartTool {
    /// The call.
    pub call_id: ToolCallId,
    /// Epoch of the caller.
    pub epoch: u64,
    /// Digest of the plan that would run now.
    pub digest: String,
    /// Oldest decision that may still be used, in milliseconds. Counted from the later of the decision and
    /// the moment nothing stood in the way any more (last gate of the turn decided, call before it ended).
    pub max_decision_age_ms: i64,
}

/// Whether the call may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartToolOutcome {
    /// Execute it now.
    Started {
        /// Number of the start, from 1.
        attempt: u32,
    },
    /// The plan is not the one that was judged or approved; nothing changed.
    DigestMismatch,
    /// The approval went back to pending under a new revision.
    DecisionTooOld,
    /// It is in this state, which cannot start.
    NotStartable(ToolCallState),
}
