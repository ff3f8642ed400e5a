//! What people do with one remembered thing: change it, pin it, accept it, let it replace others, delete it.

use serde_json::{Value, json};

use crate::clock::Timestamp;
use crate::protocol::enums::{MemoryKind, MemoryState};
use crate::protocol::ids::MemoryId;
use crate::protocol::memory::Memory;
use crate::store::command::{WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::input::ActorRef;
use crate::store::rows::digest;
use crate::store::sql::{Statements, params};
use crate::store::tx::memories::checked;

/// What is done with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemoryChange {
    /// What is absent stays. Text without secrets.
    Edit {
        /// New text.
        text: Option<String>,
        /// New kind.
        kind: Option<MemoryKind>,
        /// New end.
        expires_at: Option<Timestamp>,
    },
    /// Pinned or not.
    Pin(bool),
    /// No longer waits for a person.
    Accept,
    /// It says better what these say.
    Supersede(Vec<MemoryId>),
}

/// Changes one. Durable; audited; answers it as it is now.
#[derive(Debug, Clone)]
pub struct ChangeMemory {
    pub id: MemoryId,
    /// How.
    pub change: MemoryChange,
    pub by: ActorRef,
}

fn refused(memory: &Memory, what: &str, next: &str) -> StoreError {
    StoreError::rejected(format!(
        "memory {} is {} and cannot be {what}: {next}",
        memory.id, memory.state
    ))
}

const PUT_BACK: &str = "undo the hygiene run that archived it";

impl ChangeMemory {
    fn edit(
        tx: &mut WriteTx<'_>,
        memory: &Memory,
        text: Option<&str>,
        kind: Option<MemoryKind>,
        expires_at: Option<Timestamp>,
    ) -> Result<Value, StoreError> {
        if memory.state == MemoryState::Archived {
            return Err(refused(memory, "edited", PUT_BACK));
        }
        if let Some(text) = text {
            let text = checked(text)?;
            tx.conn.run(
                "UPDATE memories SET text = ?2, digest = ?3 WHERE id = ?1",
                params![memory.id, text, digest(&text)],
            )?;
            tx.drop_vector(memory.id)?;
        }
        tx.conn.run(
            "UPDATE memories SET kind = ?2, expires_at = ?3, updated_at = ?4 WHERE id = ?1",
            params![
                memory.id,
                kind.unwrap_or(memory.kind),
                expires_at.or(memory.expires_at),
                tx.now
            ],
        )?;
        Ok(json!({ "text": text.is_some(), "kind": kind, "expires_at": expires_at }))
    }

    fn pin(tx: &mut WriteTx<'_>, memory: &Memory, pinned: bool) -> Result<Value, StoreError> {
        if pinned && memory.state != MemoryState::Active {
            let next = match memory.state {
                MemoryState::Proposed => "accept it first",
                MemoryState::Superseded => "pin the one that replaced it",
                MemoryState::Archived | MemoryState::Active => PUT_BACK,
            };
            return Err(refused(memory, "pinned", next));
        }
        tx.conn.run(
            "UPDATE memories SET pinned = ?2, updated_at = ?3 WHERE id = ?1",
            params![memory.id, pinned, tx.now],
        )?;
        Ok(json!({ "pinned": pinned }))
    }

    fn accept(tx: &mut WriteTx<'_>, memory: &Memory) -> Result<Value, StoreError> {
        if memory.state != MemoryState::Proposed {
            return Err(refused(
                memory,
                "accepted",
                "only a proposed one waits for that",
            ));
        }
        tx.conn.run(
            "UPDATE memories SET state = 'active', updated_at = ?2 WHERE id = ?1",
            params![memory.id, tx.now],
        )?;
        Ok(json!({}))
    }

    fn supersede(
        tx: &mut WriteTx<'_>,
        memory: &Memory,
        others: &[MemoryId],
    ) -> Result<Value, StoreError> {
        if memory.state != MemoryState::Active {
            return Err(refused(
                memory,
                "put in place of others",
                "choose an active one",
            ));
        }
        for other in others {
            let other = tx.memory(*other)?;
            if other.id == memory.id {
                return Err(StoreError::rejected(format!(
                    "memory {} cannot replace itself",
                    memory.id
                )));
            }
            if other.state == MemoryState::Archived {
                return Err(refused(&other, "replaced", PUT_BACK));
            }
            tx.conn.run(
                "UPDATE memories SET state = 'superseded', pinned = 0, superseded_by = ?2, updated_at = ?3
                 WHERE id = ?1",
                params![other.id, memory.id, tx.now],
            )?;
        }
        Ok(json!({ "others": others }))
    }
}

impl WriteCommand for ChangeMemory {
    type Output = Memory;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<Memory, StoreError> {
        let memory = tx.memory(self.id)?;
        let (change, detail) = match &self.change {
            MemoryChange::Edit {
                text,
                kind,
                expires_at,
            } => (
                "edited",
                Self::edit(tx, &memory, text.as_deref(), *kind, *expires_at)?,
            ),
            MemoryChange::Pin(pinned) if *pinned == memory.pinned => return Ok(memory),
            MemoryChange::Pin(pinned) => ("pinned", Self::pin(tx, &memory, *pinned)?),
            MemoryChange::Accept => ("accepted", Self::accept(tx, &memory)?),
            MemoryChange::Supersede(others) => {
                ("superseded", Self::supersede(tx, &memory, others)?)
            }
        };
        tx.memory_changed(change, &memory, &detail, &self.by)?;
        tx.memory(self.id)
    }
}

/// Removes one for good. Durable; audited without its text.
#[derive(Debug, Clone)]
pub struct DeleteMemory {
    pub id: MemoryId,
    pub by: ActorRef,
}

impl WriteCommand for DeleteMemory {
    type Output = MemoryId;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<MemoryId, StoreError> {
        let memory = tx.memory(self.id)?;
        tx.delete_memory(self.id)?;
        let detail = json!({ "scope": memory.scope, "was": memory.state });
        tx.memory_changed("deleted", &memory, &detail, &self.by)?;
        Ok(self.id)
    }
}
