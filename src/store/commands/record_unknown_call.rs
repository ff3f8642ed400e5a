//! Adds what a look at the other side said to a question about an unknown outcome.

use crate::protocol::enums::{ApprovalKind, ApprovalState};
use crate::protocol::ids::ApprovalId;
use crate::store::command::{WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::input::ActorRef;
use crate::store::sql::{Statements, params};
use serde_json::json;

/// Adds to what is known about an unknown outcome. Durable. Does nothing once the question is answered.
#[derive(Debug, Clone)]
pub struct RecordUnknownCall {
    /// The question, of kind `resolve_unknown` or `resend`.
    pub approval_id: ApprovalId,
    /// What is known now, redacted; one sentence.
    pub text: String,
}

impl WriteTx<'_> {
    /// Adds a sentence to a pending question and announces it anew. The same sentence is added once.
    pub(crate) fn note_question(&mut self, id: ApprovalId, text: &str) -> Result<(), StoreError> {
        let changed = self.conn.run(
            "UPDATE approvals SET question = trim(coalesce(question, '') || ' ' || ?2), updated_at = ?3
             WHERE id = ?1 AND instr(coalesce(question, ''), ?2) = 0",
            params![id, text, self.now],
        )?;
        if changed > 0 {
            self.requested_event(id)?;
        }
        Ok(())
    }
}

impl WriteCommand for RecordUnknownCall {
    type Output = ();

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        let gate = tx.gate(self.approval_id)?;
        let asks = matches!(
            gate.kind,
            ApprovalKind::ResolveUnknown | ApprovalKind::Resend
        );
        if !asks || gate.state != ApprovalState::Pending {
            return Ok(());
        }
        tx.note_question(gate.id, &self.text)?;
        tx.audit(
            "outcome.looked_up",
            &ActorRef::engine(),
            Some(&gate.channel),
            gate.id,
            &json!({ "call": gate.call_id, "delivery": gate.outbox_id, "said": self.text }),
        )
    }
}
