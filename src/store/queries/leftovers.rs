//! What runs left in places that make programs run, and which runs are under way.

use rusqlite::{Connection, OptionalExtension, Row};

use crate::clock::Timestamp;
use crate::protocol::ids::{ContinuationId, SessionId, ToolCallId};
use crate::protocol::leftovers::Leftovers;
use crate::store::error::StoreError;
use crate::store::reader::Reader;
use crate::store::rows::json;

/// Columns of [`leftovers_row`], of calls that left something.
const FOUND: &str = "SELECT call_id, session_id, continuation_id, channel, conversation, tool, preview, workspace, found,
        found_at, dismissed_at, by_label FROM leftovers WHERE found IS NOT NULL";
/// Most items of a list.
const LISTED: u32 = 200;

fn leftovers_row(row: &Row<'_>) -> rusqlite::Result<Leftovers> {
    Ok(Leftovers {
        tool_call_id: ToolCallId::from_bytes(row.get(0)?),
        session_id: SessionId::from_bytes(row.get(1)?),
        continuation_id: ContinuationId::from_bytes(row.get(2)?),
        channel: row.get(3)?,
        conversation: row.get(4)?,
        tool: row.get(5)?,
        preview: row.get(6)?,
        workspace: row.get(7)?,
        new: json(row, 8)?,
        found_at: Timestamp(row.get(9)?),
        dismissed_at: row.get::<_, Option<i64>>(10)?.map(Timestamp),
        by: row.get(11)?,
    })
}

/// What a call left; none = nothing.
pub(crate) fn load_leftovers(
    conn: &Connection,
    id: ToolCallId,
) -> Result<Option<Leftovers>, StoreError> {
    Ok(conn
        .prepare_cached(&format!("{FOUND} AND call_id = ?1"))?
        .query_row([id.to_bytes()], leftovers_row)
        .optional()?)
}

/// A run that nobody has looked after yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenRun {
    /// Its call.
    pub call_id: ToolCallId,
    /// Where it runs.
    pub workspace: String,
    /// What was there before, as it was given.
    pub before: String,
}

impl Reader<'_> {
    /// What runs left, the newest first, at most 200; `all` = also what a person has dismissed.
    pub fn leftovers(&self, all: bool) -> Result<Vec<Leftovers>, StoreError> {
        Ok(self
            .conn
            .prepare_cached(&format!(
                "{FOUND} AND (?1 OR dismissed_at IS NULL) ORDER BY found_at DESC, call_id DESC LIMIT {LISTED}"
            ))?
            .query_map([all], leftovers_row)?
            .collect::<rusqlite::Result<_>>()?)
    }

    /// Runs that are under way, or were when the process died; the oldest first.
    pub fn open_runs(&self) -> Result<Vec<OpenRun>, StoreError> {
        Ok(self
            .conn
            .prepare_cached(
                "SELECT call_id, workspace, before FROM leftovers WHERE before IS NOT NULL ORDER BY call_id",
            )?
            .query_map([], |row| {
                Ok(OpenRun {
                    call_id: ToolCallId::from_bytes(row.get(0)?),
                    workspace: row.get(1)?,
                    before: row.get(2)?,
                })
            })?
            .collect::<rusqlite::Result<_>>()?)
    }
}
