//! An inbound item and what it orders, in one transaction, carried out once however often it is delivered.

use crate::store::command::{WriteCommand, WriteTx};
use crate::store::commands::ingest_record::IngestRecord;
use crate::store::commands::ingest_turn::IngestOutcome;
use crate::store::error::StoreError;

/// Records an item and carries out its command, unless the item had been recorded before. Durable.
#[derive(Debug, Clone)]
pub struct IdempotentIngest<C> {
    /// The item.
    pub record: IngestRecord,
    /// What it orders.
    pub then: C,
}

impl<C: WriteCommand> WriteCommand for IdempotentIngest<C> {
    /// What became of the item, and of its command when it was carried out now.
    type Output = (IngestOutcome, Option<C::Output>);

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<Self::Output, StoreError> {
        let ingested = self.record.apply(tx)?;
        if ingested.repeated {
            return Ok((ingested, None));
        }
        let done = self.then.apply(tx)?;
        Ok((ingested, Some(done)))
    }

    fn committed(&self) {
        self.record.committed();
        self.then.committed();
    }
}
