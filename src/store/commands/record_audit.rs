//! Records in the audit what changes nothing else in the database.

use serde_json::Value;

use crate::store::command::{WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::input::ActorRef;

/// Appends a row to the audit. Durable.
#[derive(Debug, Clone)]
pub struct RecordAudit {
    /// What happened, as `shell.started`.
    pub action: &'static str,
    pub by: ActorRef,
    /// The channel concerned.
    pub channel: Option<String>,
    /// Whom or what it is about, by its id or name.
    pub subject: String,
    /// Facts, redacted.
    pub detail: Value,
}

impl WriteCommand for RecordAudit {
    type Output = ();

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        let channel = self.channel.as_deref();
        tx.audit(self.action, &self.by, channel, &self.subject, &self.detail)
    }
}
