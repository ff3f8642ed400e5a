//! Small facts the engine asks for while it judges and routes.

use rusqlite::params;

use crate::protocol::approval::Requester;
use crate::protocol::ids::SessionId;
use crate::store::error::StoreError;
use crate::store::reader::Reader;
use crate::store::schema;

impl Reader<'_> {
    /// Everybody who said something in a session: whose words are in its context.
    pub fn session_requesters(&self, session: SessionId) -> Result<Vec<Requester>, StoreError> {
        let rows = self
            .conn
            .prepare_cached(
                "SELECT requester_id, max(requester_display), max(requester_person) FROM continuations
                 WHERE session_id = ?1 GROUP BY requester_id ORDER BY requester_id",
            )?
            .query_map([session.to_bytes()], |row| {
                Ok(Requester { id: row.get(0)?, display: row.get(1)?, person: row.get(2)? })
            })?
            .collect::<rusqlite::Result<Vec<_>>>()?;
        Ok(rows)
    }

    /// Whether the process that had the database last closed it.
    pub fn ended_by_itself(&self) -> Result<bool, StoreError> {
        Ok(schema::meta(self.conn, "clean")?.is_some())
    }

    /// Whether an item was refused before on this channel with the same words (the sender is in them).
    pub fn refused_before(&self, channel: &str, detail: &str) -> Result<bool, StoreError> {
        Ok(self
            .conn
            .prepare_cached(
                "SELECT EXISTS (SELECT 1 FROM inbox WHERE channel = ?1 AND detail = ?2 AND disposition = 'pairing')",
            )?
            .query_row(params![channel, detail], |row| row.get(0))?)
    }
}
