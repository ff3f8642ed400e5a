//! A person rehearses the command that an approval waits for.

use serde_json::json;

use crate::protocol::ids::ApprovalId;
use crate::store::command::{Durability, WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::input::ActorRef;

/// Writes into the audit that a rehearsal begins, before its program starts, or how it ended. The approval stays as it
/// is. Durable.
#[derive(Debug, Clone)]
pub struct RecordRehearsal {
    /// The approval.
    pub approval_id: ApprovalId,
    /// Its channel.
    pub channel: String,
    /// The tool of its call.
    pub tool: String,
    /// Digest of what is rehearsed.
    pub digest: String,
    /// Who.
    pub by: ActorRef,
    /// How it ended, in words; none = it begins. Redacted.
    pub outcome: Option<String>,
}

impl WriteCommand for RecordRehearsal {
    type Output = ();
    const DURABILITY: Durability = Durability::Durable;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        let action = match self.outcome {
            None => "rehearsal.started",
            Some(_) => "rehearsal.ended",
        };
        let detail = json!({ "tool": self.tool, "digest": self.digest, "outcome": self.outcome });
        tx.audit(
            action,
            &self.by,
            Some(&self.channel),
            self.approval_id,
            &detail,
        )
    }
}
