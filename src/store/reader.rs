//! Read-only connections. A read never waits for the writer and never changes anything.

use rusqlite::Connection;

/// One read transaction.
pub struct Reader<'a> {
    pub(crate) conn: &'a Connection,
}
