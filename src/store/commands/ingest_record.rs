//! Takes in an inbound item that queues no turn: a command, a click, an unknown sender, something not for us.

use crate::protocol::enums::Disposition;
use crate::store::command::{WriteCommand, WriteTx};
use crate::store::commands::ingest_turn::{IngestOutcome, record, save_cursor, seen_before};
use crate::store::error::StoreError;
use crate::store::input::{NewNotice, Origin};

/// An inbound item without a turn. Durable; answers like [`crate::store::commands::ingest_turn::IngestTurn`].
#[derive(Debug, Clone)]
pub struct IngestRecord {
    /// Where it came from.
    pub origin: Origin,
    /// What became of it; not `turn`.
    pub disposition: Disposition,
    /// A few words on it.
    pub detail: String,
    /// Words to send back.
    pub notices: Vec<NewNotice>,
}

impl WriteCommand for IngestRecord {
    type Output = IngestOutcome;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<IngestOutcome, StoreError> {
        if let Some(outcome) = seen_before(tx, &self.origin)? {
            save_cursor(tx, &self.origin)?;
            return Ok(outcome);
        }
        if self.disposition == Disposition::Turn {
            return Err(StoreError::bug(
                "a turn is not taken in without its continuation",
            ));
        }
        let inbox_id = record(tx, &self.origin, self.disposition, Some(&self.detail), None)?;
        save_cursor(tx, &self.origin)?;
        tx.queue_notices(&self.notices)?;
        crate::crash_point!("ingest.pre_commit");
        Ok(IngestOutcome::new(inbox_id, self.disposition))
    }

    fn committed(&self) {
        crate::crash_point!("ingest.post_commit");
    }
}
