//! Read-only connections. A read never waits for the writer and never changes anything.

use crate::store::sql::Connection;

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
