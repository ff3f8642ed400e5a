//! Columns that several statements share.

use serde::Serialize;

use crate::protocol::session::Usage;
use crate::store::error::StoreError;
use crate::store::sql::Row;

/// JSON text for a column.
pub(crate) fn to_json(value: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(StoreError::from)
}

/// The usage of a row with the columns that continuations have for it.
pub(crate) fn usage(row: &Row<'_>) -> Result<Usage, StoreError> {
    Ok(Usage {
        input_tokens: row.get("input_tokens")?,
        output_tokens: row.get("output_tokens")?,
        cached_input_tokens: row.get("cached_tokens")?,
        cache_write_tokens: row.get("cache_write_tokens")?,
        cost_usd: row.get("cost_usd")?,
    })
}

/// The first 200 characters, for previews in events and lists.
pub(crate) fn preview(text: &str) -> String {
    text.chars().take(200).collect()
}
