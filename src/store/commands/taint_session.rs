//! Notes that a session has read something of untrusted origin.

use crate::protocol::ids::SessionId;
use crate::store::command::{Durability, WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::queries::memories::load_session_taint;
use crate::store::sql::{Json, Statements, params};

/// Most entries: one is enough to make calls ask, the others say why.
const MOST: usize = 16;

/// Adds what a session has read; it stays until the session ends. Relaxed: it is written before the model sees what
/// it is about, in the same log, so whatever came of that is never there without it.
#[derive(Debug, Clone)]
pub struct TaintSession {
    pub session_id: SessionId,
    /// What it has read, in words, without names of people.
    pub taint: Vec<String>,
}

impl WriteCommand for TaintSession {
    type Output = ();
    const DURABILITY: Durability = Durability::Relaxed;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        if self.taint.is_empty() {
            return Ok(());
        }
        let mut taint = load_session_taint(tx.conn, self.session_id)?;
        let before = taint.len();
        for entry in &self.taint {
            if taint.len() < MOST && !taint.contains(entry) {
                taint.push(entry.clone());
            }
        }
        if taint.len() > before {
            tx.conn.run(
                "UPDATE sessions SET taint = ?2 WHERE id = ?1",
                params![self.session_id, Json(&taint)],
            )?;
        }
        Ok(())
    }
}
