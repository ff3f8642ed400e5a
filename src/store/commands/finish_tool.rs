//! Records how a started call ended.

use crate::protocol::ids::ToolCallId;
use crate::protocol::words::ToolCallState;
use crate::store::input::NewApproval;

/// The outcome of a started call. Durable. On a continuation that ended meanwhile only the call and its
/// attempt are settled.
#[derive(Debug, Clone)]
pub struct FinishTool {
    /// The call.
    pub call_id: ToolCallId,
    /// Epoch of the caller.
    pub epoch: u64,
    /// Number of the start this belongs to.
    pub attempt: u32,
    /// `Succeeded`, `Failed` or `Indeterminate`.
    pub state: ToolCallState,
    /// What the model reads; for `Indeterminate`, what is known.
    pub content: String,
    /// Whether it is an error to the model.
    pub is_error: bool,
    /// Milliseconds it ran.
    pub duration_ms: u64,
    /// The question to ask (kind `resolve_unknown`), with `Indeterminate`.
    pub resolve: Option<NewApproval>,
}
