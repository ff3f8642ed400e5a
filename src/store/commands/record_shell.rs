//! A person uses or ends the shell of a session.

use serde_json::Value;

use crate::protocol::ids::SessionId;
use crate::store::command::{Durability, WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::input::ActorRef;

/// Writes into the audit what a person does with an interpreter of a session. Durable.
#[derive(Debug, Clone)]
pub struct RecordShell {
    /// `shell.started`, `shell.ended` or `interpreter.ended`.
    pub action: &'static str,
    /// Whose.
    pub session_id: SessionId,
    /// Its channel.
    pub channel: String,
    /// Who.
    pub by: ActorRef,
    /// What; redacted.
    pub detail: Value,
}

impl WriteCommand for RecordShell {
    type Output = ();
    const DURABILITY: Durability = Durability::Durable;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        let channel = Some(self.channel.as_str());
        tx.audit(
            self.action,
            &self.by,
            channel,
            self.session_id,
            &self.detail,
        )
    }
}
