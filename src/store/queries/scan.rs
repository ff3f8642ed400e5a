//! Reads a whole table in batches, so that no transaction is long.

use crate::store::error::StoreError;
use crate::store::handle::Store;
use crate::store::queries::page::BATCH;
use crate::store::sql::{Row, Statements, Value, params};

impl Store {
    /// Reads a table in batches. `query` takes the last key (?1) and the size of a batch (?2), and its first column is the
    /// key; `read` makes what `note` gets of a row. Every key is more than 0: a number, or an id, which is bytes.
    pub(crate) async fn each_row<T: Send + 'static>(
        &self,
        query: &'static str,
        read: fn(&Row<'_>) -> Result<T, StoreError>,
        mut note: impl FnMut(T),
    ) -> Result<(), StoreError> {
        let mut after = Value::from(0);
        loop {
            let from = after.clone();
            let rows: Vec<(Value, T)> = self
                .read(move |reader| {
                    let keyed = |row: &Row<'_>| Ok((row.first()?, read(row)?));
                    reader.conn.rows(query, params![from, BATCH], keyed)
                })
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
