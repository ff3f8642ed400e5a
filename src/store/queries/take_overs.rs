//! Conversations that people hold in place of the agent.

use crate::protocol::take_over::TakeOver;
use crate::store::error::StoreError;
use crate::store::sql::{Connection, Row, Statements, columns, params};

/// The take-over of a row; its id is `take_over_id`.
pub(crate) fn take_over(row: &Row<'_>) -> Result<TakeOver, StoreError> {
    Ok(columns!(row => TakeOver { id = "take_over_id", by = "by_label", by_id, surface, at }))
}

/// Who holds a conversation.
pub(crate) fn load_take_over(
    conn: &Connection,
    channel: &str,
    conversation: &str,
) -> Result<Option<TakeOver>, StoreError> {
    conn.row_opt(
        "SELECT id AS take_over_id, by_label, by_id, surface, at FROM take_overs WHERE channel = ?1
             AND conversation = ?2",
        params![channel, conversation],
        take_over,
    )
}
