//! Read-only connections. A read never waits for the writer and never changes anything.

use crate::store::error::StoreError;
use crate::store::sql::{Connection, Statements};

/// One read transaction.
pub struct Reader<'a> {
    pub(crate) conn: &'a Connection,
}

#[cfg(feature = "test-hooks")]
impl<'a> Reader<'a> {
    /// Reads through a connection that a test counts on.
    pub fn over(conn: &'a Connection) -> Self {
        Self { conn }
    }
}

/// Runs a closure in one read transaction.
pub(crate) fn in_read_transaction<T>(
    conn: &Connection,
    query: impl FnOnce(&Reader<'_>) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    conn.run("BEGIN", [])?;
    let result = query(&Reader { conn });
    let end = conn.run("COMMIT", []);
    let value = result?;
    end?;
    Ok(value)
}
