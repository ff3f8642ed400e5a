//! Refuses a call that had not started: its plan became impossible or the policy stricter.

use serde_json::json;

use crate::protocol::enums::{ApprovalState, ToolCallState};
use crate::protocol::ids::ToolCallId;
use crate::store::command::{WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::input::ActorRef;
use crate::store::tx::calls::CallResult;

/// A ready or approved call gets a denied result instead of a start. Durable. Its approval is revoked.
#[derive(Debug, Clone)]
pub struct RefuseCall {
    pub call_id: ToolCallId,
    /// Epoch of the caller.
    pub epoch: u64,
    /// What the model reads.
    pub content: String,
}

impl WriteCommand for RefuseCall {
    type Output = ();

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        tx.same_epoch(self.epoch)?;
        let mut call = tx.call(self.call_id)?;
        let head = tx.running(call.continuation_id, self.epoch)?;
        if let Some(gate) = call.approval_id
            && matches!(
                tx.gate(gate)?.state,
                ApprovalState::Pending | ApprovalState::Approved
            )
        {
            tx.close_gate(gate, ApprovalState::Revoked)?;
        }
        tx.audit(
            "tool.refused",
            &ActorRef::engine(),
            Some(&head.channel),
            call.id,
            &json!({ "tool": call.name, "why": self.content }),
        )?;
        let result = CallResult {
            content: &self.content,
            is_error: true,
            duration_ms: None,
            artifact: None,
            cached: None,
        };
        tx.settle_call(&head, &mut call, ToolCallState::Denied, result)
    }
}
