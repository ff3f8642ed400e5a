//! Converting between columns and protocol types. A value that does not fit is an error, never a default.

use std::str::FromStr;

use rusqlite::Row;
use rusqlite::types::Type;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::protocol::session::Usage;
use crate::store::error::StoreError;

fn conversion(
    index: usize,
    error: impl std::error::Error + Send + Sync + 'static,
) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(index, Type::Text, Box::new(error))
}

/// A word of a vocabulary.
pub(crate) fn word<T>(row: &Row<'_>, index: usize) -> rusqlite::Result<T>
where
    T: FromStr,
    T::Err: std::error::Error + Send + Sync + 'static,
{
    row.get_ref(index)?
        .as_str()?
        .parse()
        .map_err(|error| conversion(index, error))
}

/// A word of a vocabulary, or none.
pub(crate) fn word_opt<T>(row: &Row<'_>, index: usize) -> rusqlite::Result<Option<T>>
where
    T: FromStr,
    T::Err: std::error::Error + Send + Sync + 'static,
{
    match row.get_ref(index)?.as_str_or_null()? {
        Some(text) => text
            .parse()
            .map(Some)
            .map_err(|error| conversion(index, error)),
        None => Ok(None),
    }
}

/// A JSON column.
pub(crate) fn json<T: DeserializeOwned>(row: &Row<'_>, index: usize) -> rusqlite::Result<T> {
    serde_json::from_str(row.get_ref(index)?.as_str()?).map_err(|error| conversion(index, error))
}

/// A JSON column, or none.
pub(crate) fn json_opt<T: DeserializeOwned>(
    row: &Row<'_>,
    index: usize,
) -> rusqlite::Result<Option<T>> {
    match row.get_ref(index)?.as_str_or_null()? {
        Some(text) => serde_json::from_str(text)
            .map(Some)
            .map_err(|error| conversion(index, error)),
        None => Ok(None),
    }
}

/// JSON text for a column.
pub(crate) fn to_json(value: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(StoreError::from)
}

/// A usage from five columns: input, output, cached, cache write, cost.
pub(crate) fn usage(row: &Row<'_>, first: usize) -> rusqlite::Result<Usage> {
    Ok(Usage {
        input_tokens: row.get(first)?,
        output_tokens: row.get(first + 1)?,
        cached_input_tokens: row.get(first + 2)?,
        cache_write_tokens: row.get(first + 3)?,
        cost_usd: row.get(first + 4)?,
    })
}

/// The first 200 characters, for previews in events and lists.
pub(crate) fn preview(text: &str) -> String {
    text.chars().take(200).collect()
}
