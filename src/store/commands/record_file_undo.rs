//! A person undoes what a call did to files.

use serde_json::json;

use crate::protocol::ids::ToolCallId;
use crate::store::command::{Durability, WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::input::ActorRef;

/// Writes into the audit that somebody undoes it. Durable; before the first file changes.
#[derive(Debug, Clone)]
pub struct RecordFileUndo {
    /// The call.
    pub call_id: ToolCallId,
    /// Who.
    pub by: ActorRef,
    /// Paths below the workspace, redacted.
    pub files: Vec<String>,
}

impl WriteCommand for RecordFileUndo {
    type Output = ();
    const DURABILITY: Durability = Durability::Durable;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        tx.audit(
            "file_change.undo",
            &self.by,
            None,
            self.call_id,
            &json!({ "files": self.files }),
        )
    }
}
