//! Keeps a file that leaves with the answer of its turn.

use crate::protocol::artifact::SentFile;
use crate::protocol::ids::ToolCallId;
use crate::store::command::{Durability, WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::sql::{Json, Statements, params};

/// Keeps a file of a call that runs. One of the same name stands in place of the first. Relaxed: the outcome of the call,
/// behind it in the same log, is never there without it.
#[derive(Debug, Clone)]
pub struct KeepOutboundFile {
    /// The call that sends it.
    pub call_id: ToolCallId,
    pub file: SentFile,
}

impl WriteCommand for KeepOutboundFile {
    type Output = ();
    const DURABILITY: Durability = Durability::Relaxed;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        let continuation = tx
            .conn
            .row_opt(
                "SELECT continuation_id FROM tool_calls WHERE id = ?1",
                [self.call_id],
                |row| row.get("continuation_id"),
            )?
            .ok_or_else(|| StoreError::not_found("tool call", self.call_id))?;
        tx.refer_to_artifact(continuation, Some(self.call_id), &self.file.artifact)?;
        tx.conn.run(
            "INSERT INTO outbound_files (tool_call_id, name, continuation_id, file, created_at)
             VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (tool_call_id, name) DO UPDATE SET file = excluded.file",
            params![self.call_id, self.file.name, continuation, Json(&self.file), tx.now],
        )?;
        Ok(())
    }
}
