//! Replaces the arguments of a call that waits for approval.

use crate::protocol::approval::Preview;
use crate::protocol::enums::{ApprovalState, ToolCallState};
use crate::protocol::ids::ApprovalId;
use crate::store::command::{WriteCommand, WriteTx};
use crate::store::commands::decide::{DecideOutcome, DecideReport};
use crate::store::error::StoreError;
use crate::store::input::{ActorRef, NewCallFacts, NewCard};
use crate::store::queries::approvals::load_approval;
use crate::store::sql::{Json, Statements, params};
use serde_json::json;

/// An edit by a person. Durable; answers like a decision. New revision and digest, still pending.
#[derive(Debug, Clone)]
pub struct ReviseApproval {
    pub approval_id: ApprovalId,
    /// Digest that was shown.
    pub digest: String,
    pub by: ActorRef,
    /// The call as edited.
    pub call: NewCallFacts,
    /// Its new preview.
    pub preview: Preview,
    /// Which untrusted content is in context.
    pub taint: Vec<String>,
    /// Why a permission for the session would never be used for it.
    pub once_only: Option<String>,
    /// New cards; cards of the old revision are disarmed.
    pub cards: Vec<NewCard>,
}

impl WriteCommand for ReviseApproval {
    type Output = DecideReport;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<DecideReport, StoreError> {
        let mut gate = tx.gate(self.approval_id)?;
        if gate.state != ApprovalState::Pending {
            let outcome = match &gate.decision {
                Some(winner) => DecideOutcome::Lost {
                    winner: winner.clone(),
                    approval: load_approval(tx.conn, gate.id)?,
                },
                None => DecideOutcome::NotPending(gate.state),
            };
            return Ok(DecideReport::of(&gate, outcome));
        }
        if let Some(outcome) = DecideOutcome::outdated(&gate, &self.digest, None, tx.now) {
            return Ok(DecideReport::of(&gate, outcome));
        }
        let (Some(call_id), Some(continuation)) = (gate.call_id, gate.continuation_id) else {
            return Err(StoreError::rejected(format!(
                "approval {} of kind {} has no arguments to edit",
                gate.id, gate.kind
            )));
        };
        let call = tx.call(call_id)?;
        if call.state != ToolCallState::Awaiting {
            return Err(StoreError::conflict(format!(
                "tool call {call_id} is {}: only one that waits can be edited",
                call.state
            )));
        }
        let head = tx.head(continuation)?;
        // Before the new cards, which must stay armed.
        tx.disarm_cards(gate.id, true)?;
        tx.replace_facts(call_id, &self.call)?;
        let old = gate.digest.clone();
        tx.next_revision(&mut gate, &self.call.digest)?;
        tx.conn.run(
            "UPDATE approvals SET preview = ?2, taint = ?3, once_only = ?4 WHERE id = ?1",
            params![
                gate.id,
                Json(&self.preview),
                Json(&self.taint),
                self.once_only
            ],
        )?;
        tx.note(
            &head,
            &self.by.label,
            format!("edited the arguments of {}", call.name),
        )?;
        tx.audit(
            "approval.edited",
            &self.by,
            Some(&gate.channel),
            gate.id,
            &json!({ "call": call_id, "from": old, "to": gate.digest, "revision": gate.revision }),
        )?;
        tx.queue_cards(&gate, &self.cards)?;
        tx.requested_event(gate.id)?;
        let approval = load_approval(tx.conn, gate.id)?;
        crate::crash_point!("decide.pre_commit");
        Ok(DecideReport::of(&gate, DecideOutcome::Decided(approval)))
    }

    fn committed(&self) {
        crate::crash_point!("decide.post");
    }
}
