//! Small facts the engine asks for while it evaluates and routes.

use crate::protocol::approval::Requester;
use crate::protocol::ids::SessionId;
use crate::store::error::StoreError;
use crate::store::meta;
use crate::store::reader::Reader;
use crate::store::sql::{Statements, columns, params};

impl Reader<'_> {
    /// Everybody who said something in a session: whose words are in its context.
    pub fn session_requesters(&self, session: SessionId) -> Result<Vec<Requester>, StoreError> {
        let rows = self.conn.rows(
            "SELECT requester_id, max(requester_display) AS display, max(requester_person) AS person
             FROM continuations WHERE session_id = ?1 GROUP BY requester_id ORDER BY requester_id",
            [session],
            |row| Ok(columns!(row => Requester { id = "requester_id", display, person })),
        )?;
        Ok(rows)
    }

    /// Whether the process that had the database last closed it.
    pub fn ended_by_itself(&self) -> Result<bool, StoreError> {
        Ok(meta::get(self.conn, "clean")?.is_some())
    }

    /// Whether an item was refused before on this channel with the same words (the sender is in them).
    pub fn refused_before(&self, channel: &str, detail: &str) -> Result<bool, StoreError> {
        self.conn.value(
            "SELECT EXISTS (SELECT 1 FROM inbox WHERE channel = ?1 AND detail = ?2 AND disposition = 'pairing')",
            params![channel, detail],
        )
    }
}
