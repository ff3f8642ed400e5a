//! Which message of a chat shows how far a turn has come.

use crate::protocol::ids::ContinuationId;
use crate::store::command::{Durability, WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::sql::{Statements, params};

/// Records the platform's id of a turn's progress message; none = it went. Relaxed: a message that is lost here stays in
/// its chat and says nothing wrong. A turn that is gone changes nothing.
#[derive(Debug, Clone)]
pub struct RecordProgress {
    pub continuation_id: ContinuationId,
    pub message_ref: Option<String>,
}

impl WriteCommand for RecordProgress {
    type Output = ();
    const DURABILITY: Durability = Durability::Relaxed;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        tx.conn.run(
            "UPDATE continuations SET progress_ref = ?2 WHERE id = ?1",
            params![self.continuation_id, self.message_ref],
        )?;
        Ok(())
    }
}
