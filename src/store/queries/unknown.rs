//! Outcomes that nobody knows and that a look at the other side may settle.

use crate::protocol::ids::{ApprovalId, ContinuationId, ToolCallId};
use crate::store::error::StoreError;
use crate::store::reader::Reader;

/// A call whose outcome nobody knows, of a class that can be looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownCall {
    /// The call.
    pub call_id: ToolCallId,
    /// Its continuation.
    pub continuation_id: ContinuationId,
    /// The pending question.
    pub approval_id: ApprovalId,
    /// Number of its last start.
    pub attempt: u32,
}

impl Reader<'_> {
    /// Calls that a person is asked about and that can be looked up, oldest first.
    pub fn unknown_calls(&self) -> Result<Vec<UnknownCall>, StoreError> {
        Ok(self
            .conn
            .prepare_cached(
                "SELECT t.id, t.continuation_id, a.id, t.attempts FROM approvals a JOIN tool_calls t ON t.id = a.tool_call_id
                 WHERE a.state = 'pending' AND a.kind = 'resolve_unknown' AND t.state = 'indeterminate'
                    AND t.effect IN ('keyed', 'reconcilable')
                 ORDER BY a.position",
            )?
            .query_map([], |row| {
                Ok(UnknownCall {
                    call_id: ToolCallId::from_bytes(row.get(0)?),
                    continuation_id: ContinuationId::from_bytes(row.get(1)?),
                    approval_id: ApprovalId::from_bytes(row.get(2)?),
                    attempt: row.get(3)?,
                })
            })?
            .collect::<rusqlite::Result<_>>()?)
    }
}
