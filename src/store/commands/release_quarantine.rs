//! Lifts the quarantine of a restored database.

use crate::store::command::{WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::input::ActorRef;
use crate::store::meta;
use serde_json::json;

/// Lifts the quarantine. Durable. Does nothing when there is none.
#[derive(Debug, Clone)]
pub struct ReleaseQuarantine {
    pub by: ActorRef,
}

impl WriteCommand for ReleaseQuarantine {
    type Output = ();

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        if meta::quarantined(tx.conn)? {
            meta::clear(tx.conn, "quarantine")?;
            tx.audit("quarantine.released", &self.by, None, "engine", &json!({}))?;
        }
        Ok(())
    }
}
