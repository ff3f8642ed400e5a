//! The steps of a continuation.

use crate::protocol::ids::ContinuationId;
use crate::protocol::session::Step;
use crate::store::error::StoreError;
use crate::store::sql::{Connection, Statements, columns};

/// A continuation's steps in order.
pub(crate) fn load_steps(conn: &Connection, id: ContinuationId) -> Result<Vec<Step>, StoreError> {
    conn.rows(
        "SELECT n, kind, body, at FROM steps WHERE continuation_id = ?1 ORDER BY n",
        [id],
        |row| {
            Ok(columns!(row => Step {
                n, kind, at;
                continuation_id: id,
                body: row.json("body")?,
            }))
        },
    )
}
