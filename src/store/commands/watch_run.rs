//! A run of a program: what its workspace has before, and what is new there afterwards.

use serde_json::json;

use crate::protocol::event::EventBody;
use crate::protocol::ids::ToolCallId;
use crate::protocol::leftovers::{Leftovers, NewPlaces};
use crate::store::command::{WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::input::ActorRef;
use crate::store::queries::leftovers::load_leftovers;
use crate::store::sql::{Json, Statements, params};

/// Most new names in a row of the audit.
const MOST_AUDITED: usize = 20;

/// Keeps what a workspace has before a run. Durable: whatever ends this process, the next one can tell what is new.
#[derive(Debug, Clone)]
pub struct BeginRun {
    pub call_id: ToolCallId,
    /// Absolute path.
    pub workspace: String,
    /// What is there, as JSON.
    pub before: String,
}

impl WriteCommand for BeginRun {
    type Output = ();

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        let kept = tx.conn.run(
            "INSERT INTO leftovers (call_id, session_id, continuation_id, channel, conversation, tool, preview,
                workspace, before)
             SELECT t.id, s.id, c.id, s.channel, s.conversation, t.name, t.preview, ?2, ?3
             FROM tool_calls t JOIN continuations c ON c.id = t.continuation_id
                JOIN sessions s ON s.id = c.session_id
             WHERE t.id = ?1
             ON CONFLICT (call_id) DO UPDATE SET workspace = excluded.workspace, before = excluded.before",
            params![self.call_id, self.workspace, self.before],
        )?;
        match kept {
            0 => Err(StoreError::not_found("tool call", self.call_id)),
            _ => Ok(()),
        }
    }
}

/// Ends a run. Durable. Where it left something, that waits for a person; where it did not, nothing is kept.
#[derive(Debug, Clone)]
pub struct EndRun {
    pub call_id: ToolCallId,
    /// What is new, redacted.
    pub new: NewPlaces,
}

impl WriteTx<'_> {
    /// Tells readers how what a call left stands now.
    pub(crate) fn tell_leftovers(&mut self, leftovers: &Leftovers) -> Result<(), StoreError> {
        self.emit(
            Some(leftovers.session_id),
            Some(leftovers.continuation_id),
            EventBody::LeftoversChanged {
                leftovers: Box::new(leftovers.clone()),
            },
        )
    }
}

impl WriteCommand for EndRun {
    type Output = ();

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        let id = self.call_id;
        if self.new.is_empty() {
            tx.conn.run(
                "DELETE FROM leftovers WHERE call_id = ?1 AND found IS NULL",
                [id],
            )?;
            tx.conn.run(
                "UPDATE leftovers SET before = NULL WHERE call_id = ?1",
                [id],
            )?;
            return Ok(());
        }
        // A call that ran twice may have left something twice.
        let earlier = load_leftovers(tx.conn, self.call_id)?
            .filter(|earlier| earlier.dismissed_at.is_none())
            .map(|earlier| earlier.new)
            .unwrap_or_default();
        tx.conn.run(
            "UPDATE leftovers SET before = NULL, found = ?2, found_at = ?3, dismissed_at = NULL, by_label = NULL
             WHERE call_id = ?1",
            params![id, Json(earlier.and(self.new.clone())), tx.now],
        )?;
        // Somebody erased the user meanwhile, and all of their turn.
        let Some(leftovers) = load_leftovers(tx.conn, self.call_id)? else {
            return Ok(());
        };
        let named = self.new.set_aside.iter().take(MOST_AUDITED);
        tx.audit(
            "leftovers.found",
            &ActorRef::engine(),
            Some(&leftovers.channel),
            self.call_id,
            &json!({
                "set_aside": named.map(|one| &one.name).collect::<Vec<_>>(),
                "more": self.new.more + self.new.set_aside.len().saturating_sub(MOST_AUDITED) as u64,
                "in_place": self.new.in_place.len(),
                "incomplete": self.new.incomplete,
                "interrupted": self.new.interrupted,
            }),
        )?;
        tx.tell_leftovers(&leftovers)
    }
}
