//! What is remembered, as part of a transaction: the same text is written into the same place once.

use rusqlite::params;
use sha2::{Digest, Sha256};

use crate::clock::Timestamp;
use crate::protocol::ids::{ContinuationId, MemoryId, SessionId};
use crate::protocol::memory::MemoryPlace;
use crate::protocol::words::{MemoryAuthor, MemoryKind, MemoryScope};
use crate::store::command::WriteTx;
use crate::store::error::StoreError;
use crate::store::rows::to_json;

/// Something to remember.
#[derive(Debug, Clone, PartialEq)]
pub struct NewMemory {
    /// Its id, where it is not known yet.
    pub id: MemoryId,
    /// Where.
    pub place: MemoryPlace,
    /// What kind.
    pub kind: MemoryKind,
    /// What it says: outside text without secrets.
    pub text: String,
    /// Who wrote it.
    pub author: MemoryAuthor,
    /// Their label.
    pub author_id: String,
    /// Stable platform id of the person whose message it came from.
    pub person_id: Option<String>,
    /// The turn it came from.
    pub source: Option<ContinuationId>,
    /// Platform id of the message it came from.
    pub message_ref: Option<String>,
    /// 0 to 1.
    pub confidence: f64,
    /// Which untrusted content was in context.
    pub taint: Vec<String>,
    /// Into every context of its scope.
    pub pinned: bool,
    /// Whether it waits for a person; otherwise it is recalled at once.
    pub proposed: bool,
    /// When it was written; none = now.
    pub created_at: Option<Timestamp>,
    /// When it ends by itself.
    pub expires_at: Option<Timestamp>,
}

/// Where a new one ended up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Remembered {
    /// The one that says it now.
    pub id: MemoryId,
    /// It was there already.
    pub known: bool,
}

impl WriteTx<'_> {
    /// Remembers something of a session, unless it holds an equal text.
    pub(crate) fn insert_memory(&mut self, new: &NewMemory) -> Result<Remembered, StoreError> {
        let MemoryPlace::Session { session_id } = new.place else {
            return Err(StoreError::illegal("only what is of a session"));
        };
        let digest: [u8; 32] = Sha256::digest(new.text.to_lowercase()).into();
        let known: Option<[u8; 16]> = self.conn.query_row(
            "SELECT max(id) FROM memories WHERE digest = ?1 AND session_id = ?2 AND state IN ('proposed', 'active')",
            params![digest, session_id.to_bytes()],
            |row| row.get(0),
        )?;
        if let Some(id) = known {
            return Ok(Remembered {
                id: MemoryId::from_bytes(id),
                known: true,
            });
        }
        let state = if new.proposed { "proposed" } else { "active" };
        self.conn.execute(
            "INSERT INTO memories (id, scope, session_id, channel, kind, text, digest, author, author_id, person_id,
                source_id, message_ref, confidence, taint, state, created_at, updated_at)
             VALUES (?1, ?2, ?3, (SELECT channel FROM sessions WHERE id = ?3), ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12,
                ?13, ?14, ?15, ?15)",
            params![
                new.id.to_bytes(),
                MemoryScope::Session.as_str(),
                SessionId::to_bytes(session_id),
                new.kind.as_str(),
                new.text,
                digest,
                new.author.as_str(),
                new.author_id,
                new.person_id,
                new.source.map(ContinuationId::to_bytes),
                new.message_ref,
                new.confidence,
                to_json(&new.taint)?,
                state,
                self.now.as_millis()
            ],
        )?;
        Ok(Remembered {
            id: new.id,
            known: false,
        })
    }
}
