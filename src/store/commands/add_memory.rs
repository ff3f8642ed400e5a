//! Remembers something.

use serde_json::json;

use crate::protocol::memory::Memory;
use crate::store::command::{WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::input::ActorRef;
pub use crate::store::tx::memories::{MemoryPlacement, NewMemory};

/// Writes one. Durable; answers the one that says it now, and whether it was known. A person's is audited.
#[derive(Debug, Clone)]
pub struct AddMemory {
    pub new: NewMemory,
    pub by: ActorRef,
    /// Whether a person decided it, so that it is audited.
    pub audited: bool,
}

impl WriteCommand for AddMemory {
    type Output = (Memory, bool);

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(Memory, bool), StoreError> {
        let remembered = tx.insert_memory(&self.new)?;
        let memory = tx.memory(remembered.id)?;
        let known = remembered.known && memory.updated_at != tx.now;
        if !known {
            if self.audited {
                tx.audit(
                    "memory.added",
                    &self.by,
                    memory.channel.as_deref(),
                    memory.id,
                    &json!({ "scope": memory.scope, "kind": memory.kind, "pinned": memory.pinned }),
                )?;
            }
            tx.emit_memory(
                "added",
                memory.session_id,
                memory.channel.as_deref(),
                1,
                &self.by.label,
            )?;
        }
        Ok((memory, remembered.known))
    }
}
