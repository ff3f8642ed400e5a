//! Records that the engine goes by another configuration.

use crate::protocol::configuration::SettingChange;
use crate::store::command::{Durability, WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::input::ActorRef;
use serde_json::json;

/// Appends the audit row of a reload: the keys, and no value. Durable.
#[derive(Debug, Clone)]
pub struct RecordReload {
    /// Who asked for it.
    pub by: ActorRef,
    /// The file.
    pub file: String,
    /// What changed.
    pub changes: Vec<SettingChange>,
}

impl WriteCommand for RecordReload {
    type Output = ();
    const DURABILITY: Durability = Durability::Durable;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        let changes: Vec<_> = self
            .changes
            .iter()
            .map(|change| json!({ "key": change.key, "effect": change.effect }))
            .collect();
        tx.audit(
            "configuration.reloaded",
            &self.by,
            None,
            "engine",
            &json!({ "file": self.file, "changes": changes }),
        )
    }
}
