//! A person has looked at what a run left.

use serde_json::json;

use crate::protocol::ids::ToolCallId;
use crate::protocol::leftovers::Leftovers;
use crate::store::command::{WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::input::ActorRef;
use crate::store::queries::leftovers::load_leftovers;
use crate::store::sql::{Statements, params};

/// Takes what a call left off the Queue; no file changes. Durable. Done already is done.
#[derive(Debug, Clone)]
pub struct DismissLeftovers {
    pub call_id: ToolCallId,
    pub by: ActorRef,
}

impl WriteCommand for DismissLeftovers {
    type Output = Leftovers;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<Leftovers, StoreError> {
        let load = |tx: &WriteTx<'_>| {
            load_leftovers(tx.conn, self.call_id)?
                .ok_or_else(|| StoreError::not_found("leftovers", self.call_id))
        };
        let found = load(tx)?;
        if found.dismissed_at.is_some() {
            return Ok(found);
        }
        tx.conn.run(
            "UPDATE leftovers SET dismissed_at = ?2, by_label = ?3 WHERE call_id = ?1",
            params![self.call_id, tx.now, self.by.label],
        )?;
        tx.audit(
            "leftovers.dismissed",
            &self.by,
            Some(&found.channel),
            self.call_id,
            &json!({ "set_aside": found.new.set_aside.len() as u64 + found.new.more }),
        )?;
        let now = load(tx)?;
        tx.tell_leftovers(&now)?;
        Ok(now)
    }
}
