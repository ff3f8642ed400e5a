//! What runs left in places that make programs run, and which runs are under way.

use crate::protocol::ids::ToolCallId;
use crate::protocol::leftovers::Leftovers;
use crate::store::error::StoreError;
use crate::store::reader::Reader;
use crate::store::sql::{Connection, Row, Statements, columns};

/// Columns of [`leftovers_row`], of calls that left something.
const FOUND: &str = "SELECT call_id, session_id, continuation_id, channel, conversation, tool, preview, workspace, found,
        found_at, dismissed_at, by_label FROM leftovers WHERE found IS NOT NULL";
/// Most items of a list.
const LISTED: u32 = 200;

fn leftovers_row(row: &Row<'_>) -> Result<Leftovers, StoreError> {
    Ok(columns!(row => Leftovers {
        tool_call_id = "call_id", session_id, continuation_id, channel, conversation, tool, preview,
        workspace, found_at, dismissed_at, by = "by_label";
        new: row.json("found")?,
    }))
}

/// What a call left; none = nothing.
pub(crate) fn load_leftovers(
    conn: &Connection,
    id: ToolCallId,
) -> Result<Option<Leftovers>, StoreError> {
    conn.row_opt(&format!("{FOUND} AND call_id = ?1"), [id], leftovers_row)
}

/// A run that nobody has looked after yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenRun {
    pub call_id: ToolCallId,
    /// Where it runs.
    pub workspace: String,
    /// What was there before, as it was given.
    pub before: String,
}

impl Reader<'_> {
    /// What runs left, the newest first, at most 200; `all` = also what a person has dismissed.
    pub fn leftovers(&self, all: bool) -> Result<Vec<Leftovers>, StoreError> {
        self.conn.rows(
            &format!(
                "{FOUND} AND (?1 OR dismissed_at IS NULL)
                 ORDER BY found_at DESC, call_id DESC LIMIT {LISTED}"
            ),
            [all],
            leftovers_row,
        )
    }

    /// Runs that are under way, or were when the process died; the oldest first.
    pub fn open_runs(&self) -> Result<Vec<OpenRun>, StoreError> {
        self.conn.rows(
            "SELECT call_id, workspace, before FROM leftovers WHERE before IS NOT NULL ORDER BY call_id",
            [],
            |row| Ok(columns!(row => OpenRun { call_id, workspace, before })),
        )
    }
}
