//! Conversations that people hold in place of the agent.

use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::clock::Timestamp;
use crate::protocol::ids::TakeOverId;
use crate::protocol::take_over::TakeOver;
use crate::store::error::StoreError;
use crate::store::rows::word;

/// A take-over whose columns begin there: id, label, id of the person, surface, time.
pub(crate) fn take_over(row: &Row<'_>, first: usize) -> rusqlite::Result<TakeOver> {
    Ok(TakeOver {
        id: TakeOverId::from_bytes(row.get(first)?),
        by: row.get(first + 1)?,
        by_id: row.get(first + 2)?,
        surface: word(row, first + 3)?,
        at: Timestamp(row.get(first + 4)?),
    })
}

/// Who holds a conversation.
pub(crate) fn load_take_over(
    conn: &Connection,
    channel: &str,
    conversation: &str,
) -> Result<Option<TakeOver>, StoreError> {
    Ok(conn
        .prepare_cached(
            "SELECT id, by_label, by_id, surface, at FROM take_overs WHERE channel = ?1 AND conversation = ?2",
        )?
        .query_row(params![channel, conversation], |row| take_over(row, 0))
        .optional()?)
}
