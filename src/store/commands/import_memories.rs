//! Remembers many things at once, or none of them.

use serde_json::json;

use crate::protocol::memory::MemoryImportResult;
use crate::store::command::{WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::input::ActorRef;
use crate::store::tx::memories::NewMemory;

/// Writes all of them; one that cannot be written leaves none of them. Durable; audited.
#[derive(Debug, Clone)]
pub struct ImportMemories {
    /// Which, in the order of the file.
    pub items: Vec<NewMemory>,
    pub by: ActorRef,
}

impl WriteCommand for ImportMemories {
    type Output = MemoryImportResult;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<MemoryImportResult, StoreError> {
        let mut done = MemoryImportResult::default();
        for (n, item) in self.items.iter().enumerate() {
            let remembered = tx.insert_memory(item).map_err(|error| match error {
                StoreError::Rejected { what } => {
                    StoreError::rejected(format!("item {}: {what}; nothing was imported", n + 1))
                }
                StoreError::NotFound { what, id } => StoreError::rejected(format!(
                    "item {}: there is no {what} `{id}`; nothing was imported",
                    n + 1
                )),
                other => other,
            })?;
            if remembered.known {
                done.known += 1;
            } else {
                done.added += 1;
            }
        }
        if done.added > 0 {
            tx.audit("memory.imported", &self.by, None, "memory", &json!(done))?;
            tx.emit_memory("imported", None, None, done.added, &self.by.label)?;
        }
        Ok(done)
    }
}
