//! A person undoes what a call did to files.

use serde_json::json;

use crate::protocol::ids::ToolCallId;
use crate::store::command::{Durability, WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::input::ActorRef;

/// Writes into the audit that somebody undoes it, before the first file changes, or that the undo was refused. Durable.
#[derive(Debug, Clone)]
pub struct RecordFileUndo {
    /// The call.
    pub call_id: ToolCallId,
    /// Who.
    pub by: ActorRef,
    /// Paths below the workspace, redacted.
    pub files: Vec<String>,
    /// Why it was refused; none = it begins. Redacted.
    pub refused: Option<String>,
}

impl WriteCommand for RecordFileUndo {
    type Output = ();
    const DURABILITY: Durability = Durability::Durable;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        let (action, detail) = match &self.refused {
            None => ("file_change.undo", json!({ "files": self.files })),
            Some(why) => (
                "file_change.undo_refused",
                json!({ "files": self.files, "why": why }),
            ),
        };
        tx.audit(action, &self.by, None, self.call_id, &detail)
    }
}
