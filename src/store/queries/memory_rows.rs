//! Rows of memories, and which of them are meant.

use crate::clock::Timestamp;
use crate::protocol::ids::{MemoryId, SessionId};
use crate::protocol::memory::{Memory, MemoryFilter};
use crate::store::error::StoreError;
use crate::store::sql::{Connection, Row, Statements, Value, columns};

/// The columns that [`memory_row`] reads, of `memories m`.
pub(crate) const MEMORY: &str = "m.id, m.scope, m.session_id, m.channel, m.kind, m.text, m.author, m.author_id,
    m.person_id, m.source_id, m.message_ref, m.confidence, m.taint, m.pinned, m.state, m.archived_by, m.superseded_by,
    m.uses, m.created_at, m.updated_at, m.last_used_at, m.expires_at, m.position";

/// One from its columns, with its position.
pub(crate) fn memory_row(row: &Row<'_>) -> Result<(i64, Memory), StoreError> {
    let memory = columns!(row => Memory {
        id, scope, session_id, channel, kind, text, author, author_id, person_id,
        source = "source_id", message_ref, confidence, pinned, state, archived_by, superseded_by,
        uses, created_at, updated_at, last_used_at, expires_at;
        taint: row.json("taint")?,
    });
    Ok((row.get("position")?, memory))
}

/// One.
pub(crate) fn load_memory(conn: &Connection, id: MemoryId) -> Result<Memory, StoreError> {
    conn.row_opt(
        &format!("SELECT {MEMORY} FROM memories m WHERE m.id = ?1"),
        [id],
        memory_row,
    )?
    .map(|(_, memory)| memory)
    .ok_or_else(|| StoreError::not_found("memory", id))
}

/// A condition on `memories m`, with what it compares with.
#[derive(Debug, Clone)]
pub(crate) struct Condition {
    /// Begins with the condition itself, no AND before it.
    pub(crate) text: String,
    pub(crate) values: Vec<Value>,
}

impl Condition {
    /// Those of a filter.
    pub(crate) fn of(filter: &MemoryFilter) -> Self {
        let mut found = Self {
            text: match filter.state {
                Some(_) => "m.state = ?".to_owned(),
                None => "m.state <> 'archived'".to_owned(),
            },
            values: Vec::new(),
        };
        if let Some(state) = filter.state {
            found.values.push(state.into());
        }
        let mut and = |text: &str, value: Option<Value>| {
            if let Some(value) = value {
                found.text.push_str(text);
                found.values.push(value);
            }
        };
        let text = |value: &Option<String>| value.clone().map(Value::from);
        and(" AND m.scope = ?", filter.scope.map(Value::from));
        and(" AND m.session_id = ?", filter.session_id.map(Value::from));
        and(" AND m.channel = ?", text(&filter.channel));
        and(" AND m.person_id = ?", text(&filter.person));
        and(" AND m.pinned = ?", filter.pinned.map(Value::from));
        found
    }

    /// Those that go into a context of this place now.
    pub(crate) fn recalled(place: &RecallContext) -> Self {
        Self {
            text: "m.state = 'active' AND (m.expires_at IS NULL OR m.expires_at > ?)
                AND ((m.scope = 'session' AND m.session_id = ?) OR (m.scope = 'channel' AND m.channel = ?)
                    OR m.scope = 'global')"
                .to_owned(),
            values: vec![
                place.now.into(),
                place.session_id.into(),
                place.channel.clone().into(),
            ],
        }
    }
}

/// Whose context it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecallContext {
    pub session_id: SessionId,
    pub channel: String,
    /// Now: what has ended is not recalled.
    pub now: Timestamp,
}
