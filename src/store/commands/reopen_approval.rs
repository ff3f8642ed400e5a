//! Makes a call that was ready or approved ask (again).

use crate::protocol::enums::{ApprovalState, ToolCallState};
use crate::protocol::ids::ToolCallId;
use crate::store::command::{WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::input::ActorRef;
use crate::store::input::{NewApproval, NewCallFacts};
use crate::store::tx::approvals::Subject;
use serde_json::json;

/// The policy became stricter or the plan changed before the start. Durable. An old approval is revoked.
#[derive(Debug, Clone)]
pub struct ReopenApproval {
    pub call_id: ToolCallId,
    /// Epoch of the caller.
    pub epoch: u64,
    /// The new question.
    pub approval: NewApproval,
    pub reason: String,
    /// The call as it is now.
    pub call: NewCallFacts,
}

impl WriteCommand for ReopenApproval {
    type Output = ();

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        tx.same_epoch(self.epoch)?;
        let call = tx.call(self.call_id)?;
        let head = tx.running(call.continuation_id, self.epoch)?;
        if let Some(old) = call.approval_id {
            let state = tx.gate(old)?.state;
            if matches!(state, ApprovalState::Pending | ApprovalState::Approved) {
                tx.close_gate(old, ApprovalState::Revoked)?;
            }
        }
        tx.move_call(call.id, call.state, ToolCallState::Awaiting)?;
        tx.replace_facts(call.id, &self.call)?;
        tx.audit(
            "tool.asks_again",
            &ActorRef::engine(),
            Some(&head.channel),
            call.id,
            &json!({ "why": self.reason, "approval": self.approval.id, "digest": self.call.digest }),
        )?;
        tx.ask(&head, &self.approval, &Subject::call(call.id))
    }
}
