//! Records what hooks did: with the call they did it to, and in the audit.

use crate::protocol::hook::HookNote;
use crate::protocol::ids::{ContinuationId, ToolCallId};
use crate::store::command::{WriteCommand, WriteTx};
use crate::store::commands::record_audit::RecordAudit;
use crate::store::error::StoreError;
use crate::store::queries::hooks::load_notes;
use crate::store::sql::{Json, Statements, params};

/// Adds notes to calls and rows to the audit, and keeps what models read instead of a message. Durable.
#[derive(Debug, Clone, Default)]
pub struct RecordHooks {
    /// What was done to calls; they exist when this is applied.
    pub notes: Vec<(ToolCallId, Vec<HookNote>)>,
    /// What models read instead of the text of this turn, which runs in this epoch.
    pub sent_text: Option<(ContinuationId, u64, String)>,
    /// Rows for the audit, in order.
    pub rows: Vec<RecordAudit>,
}

impl RecordHooks {
    /// Whether there is nothing to record.
    pub fn is_empty(&self) -> bool {
        self.notes.is_empty() && self.sent_text.is_none() && self.rows.is_empty()
    }
}

impl WriteCommand for RecordHooks {
    type Output = ();

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        for (call, notes) in &self.notes {
            tx.call(*call)?;
            let mut all = load_notes(tx.conn, *call)?;
            all.extend(notes.iter().cloned());
            tx.conn.run(
                "UPDATE tool_calls SET hooks = ?2 WHERE id = ?1",
                params![call, Json(&all)],
            )?;
        }
        if let Some((continuation, epoch, text)) = &self.sent_text {
            tx.running(*continuation, *epoch)?;
            tx.conn.run(
                "UPDATE continuations SET sent_text = ?2 WHERE id = ?1",
                params![continuation, text],
            )?;
        }
        for row in &self.rows {
            row.apply(tx)?;
        }
        Ok(())
    }
}
