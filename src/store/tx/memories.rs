//! What is remembered, as part of a transaction: the same text is written into the same place once.

use crate::clock::Timestamp;
use crate::protocol::enums::{MemoryAuthor, MemoryKind, MemoryScope, MemoryState};
use crate::protocol::event::EventBody;
use crate::protocol::ids::{ContinuationId, MemoryId, SessionId};
use crate::protocol::memory::{MAX_TEXT, Memory, MemoryTarget};
use crate::store::command::WriteTx;
use crate::store::error::StoreError;
use crate::store::input::ActorRef;
use crate::store::queries::memory_rows::load_memory;
use crate::store::rows::digest;
use crate::store::sql::{Json, Statements, columns, params};
use crate::text::fold;

/// Something to remember.
#[derive(Debug, Clone, PartialEq)]
pub struct NewMemory {
    /// Its id, where it is not known yet.
    pub id: MemoryId,
    /// Where.
    pub place: MemoryTarget,
    pub kind: MemoryKind,
    /// What it says: outside text without secrets, at most [`MAX_TEXT`] bytes.
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
    /// Into every context of its scope. Only an active one can be pinned.
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
pub struct MemoryPlacement {
    /// The one that says it now.
    pub id: MemoryId,
    /// It was there already.
    pub known: bool,
}

/// The text as it is stored.
pub(crate) fn checked(text: &str) -> Result<String, StoreError> {
    let text = fold::kept(text);
    if text.is_empty() {
        return Err(StoreError::rejected(
            "there is nothing to remember: the text is empty",
        ));
    }
    if text.len() > MAX_TEXT {
        return Err(StoreError::rejected(format!(
            "the text has {} bytes, a remembered one has at most {MAX_TEXT}: shorten it, or keep it in a file",
            text.len()
        )));
    }
    Ok(text)
}

impl WriteTx<'_> {
    /// Scope, session and channel of a place that exists.
    fn place(
        &self,
        place: &MemoryTarget,
    ) -> Result<(MemoryScope, Option<SessionId>, Option<String>), StoreError> {
        match place {
            MemoryTarget::Session { session_id } => {
                let channel: String = self
                    .conn
                    .value_opt("SELECT channel FROM sessions WHERE id = ?1", [session_id])?
                    .ok_or_else(|| StoreError::not_found("session", session_id))?;
                Ok((MemoryScope::Session, Some(*session_id), Some(channel)))
            }
            MemoryTarget::Channel { channel } => {
                let known: bool = self.conn.value(
                    "SELECT EXISTS (SELECT 1 FROM channel_accounts WHERE name = ?1)",
                    [channel],
                )?;
                if !known {
                    return Err(StoreError::not_found("channel", channel));
                }
                Ok((MemoryScope::Channel, None, Some(channel.clone())))
            }
            MemoryTarget::Global => Ok((MemoryScope::Global, None, None)),
        }
    }

    /// Remembers something, unless its place holds an equal text that is recalled or waits. What waits is recalled
    /// from now on when it is said again by somebody who need not wait, and what is known is pinned when it is
    /// said to be. Writes no event: whoever calls this says what happened as a whole.
    pub(crate) fn insert_memory(&mut self, new: &NewMemory) -> Result<MemoryPlacement, StoreError> {
        let text = checked(&new.text)?;
        if !(0.0..=1.0).contains(&new.confidence) {
            return Err(StoreError::rejected(format!(
                "a confidence of {} is not between 0 and 1",
                new.confidence
            )));
        }
        if new.proposed && new.pinned {
            return Err(StoreError::rejected(
                "what waits for a person cannot be pinned",
            ));
        }
        let (scope, session, channel) = self.place(&new.place)?;
        // The same write again: whatever became of the first one since, it stands.
        let again: bool = self.conn.value(
            "SELECT EXISTS (SELECT 1 FROM memories WHERE id = ?1)",
            [new.id],
        )?;
        if again {
            return Ok(MemoryPlacement {
                id: new.id,
                known: true,
            });
        }
        let digest = digest(&text);
        let known = self.conn.row_opt(
            "SELECT id, state = 'proposed' AS proposed FROM memories
             WHERE digest = ?1 AND scope = ?2 AND session_id IS ?3 AND channel IS ?4
                AND state IN ('proposed', 'active') AND (expires_at IS NULL OR expires_at > ?5)
             ORDER BY state, position LIMIT 1",
            params![digest, scope, session, channel, self.now],
            columns!(id, proposed: bool),
        )?;
        if let Some((id, proposed)) = known {
            if (proposed && !new.proposed) || new.pinned {
                self.conn.run(
                    "UPDATE memories SET state = 'active', pinned = max(pinned, ?2), updated_at = ?3 WHERE id = ?1",
                    params![id, new.pinned, self.now],
                )?;
            }
            return Ok(MemoryPlacement { id, known: true });
        }
        let state = if new.proposed {
            MemoryState::Proposed
        } else {
            MemoryState::Active
        };
        self.conn.run(
            "INSERT INTO memories (id, scope, session_id, channel, kind, text, digest, author, author_id, person_id,
                source_id, message_ref, confidence, taint, pinned, state, created_at, updated_at, expires_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)",
            params![
                new.id,
                scope,
                session,
                channel,
                new.kind,
                text,
                digest,
                new.author,
                new.author_id,
                new.person_id,
                new.source,
                new.message_ref,
                new.confidence,
                Json(&new.taint),
                new.pinned,
                state,
                new.created_at.unwrap_or(self.now),
                self.now,
                new.expires_at,
            ],
        )?;
        Ok(MemoryPlacement {
            id: new.id,
            known: false,
        })
    }

    /// Removes one for good, with its embedding. Its index entry goes by the trigger.
    pub(crate) fn delete_memory(&mut self, id: MemoryId) -> Result<(), StoreError> {
        self.drop_vector(id)?;
        self.conn.run("DELETE FROM memories WHERE id = ?1", [id])?;
        Ok(())
    }

    /// Removes the embedding of a text that is not the same any more.
    pub(crate) fn drop_vector(&mut self, id: MemoryId) -> Result<(), StoreError> {
        self.conn
            .run("DELETE FROM memory_vectors WHERE memory_id = ?1", [id])?;
        Ok(())
    }

    /// One, as it is in this transaction.
    pub(crate) fn memory(&self, id: MemoryId) -> Result<Memory, StoreError> {
        load_memory(self.conn, id)
    }

    /// Audits and announces what a person did with one thing that is remembered.
    pub(crate) fn memory_changed(
        &mut self,
        change: &str,
        memory: &Memory,
        detail: &serde_json::Value,
        by: &ActorRef,
    ) -> Result<(), StoreError> {
        let channel = memory.channel.as_deref();
        self.audit(&format!("memory.{change}"), by, channel, memory.id, detail)?;
        self.emit_memory(change, memory.session_id, channel, 1, &by.label)
    }

    /// Says that something remembered changed.
    pub(crate) fn emit_memory(
        &mut self,
        change: &str,
        session_id: Option<SessionId>,
        channel: Option<&str>,
        count: u64,
        by: &str,
    ) -> Result<(), StoreError> {
        self.emit(
            session_id,
            None,
            EventBody::MemoryChanged {
                change: change.to_owned(),
                channel: channel.map(str::to_owned),
                count,
                compaction: None,
                by: by.to_owned(),
            },
        )
    }
}
