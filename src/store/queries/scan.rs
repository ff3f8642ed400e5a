//! Reads a whole table in batches, so that no transaction is long.

use crate::store::error::StoreError;
use crate::store::handle::Store;
use crate::store::queries::page::BATCH;
use crate::store::sql::{Row, Statements, Value, params};

impl Store {
    /// Reads a table in batches. `query` takes the last key (?1) and the size of a batch (?2); `read` answers the key of a
    /// row and what `note` gets of it.
    pub(crate) async fn each_row<T: Send + 'static>(
        &self,
        query: &'static str,
        read: fn(&Row<'_>) -> Result<(Value, T), StoreError>,
        first: Value,
        mut note: impl FnMut(T),
    ) -> Result<(), StoreError> {
        let mut after = first;
        loop {
            let from = after.clone();
            let rows: Vec<(Value, T)> = self
                .read(move |reader| reader.conn.rows(query, params![from, BATCH], read))
                .await?;
            let full = rows.len() == BATCH as usize;
            for (key, row) in rows {
                after = key;
                note(row);
            }
            if !full {
                return Ok(());
            }
        }
    }
}
