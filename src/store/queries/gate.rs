//! Questions of external agents, found by the keys under which they ask.

use crate::clock::Timestamp;
use crate::protocol::enums::ContinuationState;
use crate::protocol::gate::GATE;
use crate::protocol::ids::{ContinuationId, SessionId};
use crate::store::error::StoreError;
use crate::store::reader::Reader;
use crate::store::sql::{Row, Statements, params};

/// The turn of one question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateTurn {
    /// The turn.
    pub continuation_id: ContinuationId,
    /// Its session.
    pub session_id: SessionId,
    /// Where it stands.
    pub state: ContinuationState,
    /// The key under which it was asked.
    pub request: String,
    /// The key of the conversation.
    pub conversation: String,
    /// Whether the program of a job ends while it waits.
    pub deferred: bool,
    /// Last change.
    pub updated_at: Timestamp,
}

const TURN: &str = "SELECT c.id, c.session_id, c.state, i.key, c.updated_at, s.conversation,
        coalesce(json_extract(c.options, '$.call.external.deferred'), 0) AS deferred
     FROM inbox i JOIN continuations c ON c.id = i.continuation_id JOIN sessions s ON s.id = c.session_id
     WHERE i.channel = ?1 AND i.key IS NOT NULL AND json_extract(c.options, '$.call.external') IS NOT NULL";

fn turn(row: &Row<'_>) -> Result<GateTurn, StoreError> {
    Ok(GateTurn {
        continuation_id: row.get("id")?,
        session_id: row.get("session_id")?,
        state: row.get("state")?,
        request: row.get("key")?,
        conversation: row.get("conversation")?,
        deferred: row.get("deferred")?,
        updated_at: row.get("updated_at")?,
    })
}

impl Reader<'_> {
    /// The turn that was asked under a key; none = nobody asked.
    pub fn gate_turn(&self, request: &str) -> Result<Option<GateTurn>, StoreError> {
        self.conn.row_opt(
            &format!("{TURN} AND i.key = ?2 ORDER BY c.position DESC LIMIT 1"),
            params![GATE, request],
            turn,
        )
    }

    /// Those that have not ended, the oldest first.
    pub fn open_gate_turns(&self) -> Result<Vec<GateTurn>, StoreError> {
        self.conn.rows(
            &format!("{TURN} AND c.ended_at IS NULL ORDER BY c.position"),
            params![GATE],
            turn,
        )
    }

    /// Those of a conversation that have not ended, the oldest first.
    pub fn open_gate_turns_of(&self, conversation: &str) -> Result<Vec<GateTurn>, StoreError> {
        self.conn.rows(
            &format!("{TURN} AND c.ended_at IS NULL AND s.conversation = ?2 ORDER BY c.position"),
            params![GATE, conversation],
            turn,
        )
    }

    /// The newest call of a session with these arguments whose end nobody has reported: for programs that give their
    /// calls no ids.
    pub fn unreported_gate_turn(
        &self,
        session: SessionId,
        tool: &str,
        args_digest: &str,
    ) -> Result<Option<GateTurn>, StoreError> {
        self.conn.row_opt(
            &format!(
                "{TURN} AND c.session_id = ?2 AND EXISTS (SELECT 1 FROM tool_calls t WHERE t.continuation_id = c.id
                    AND t.name = ?3 AND t.args_digest = ?4
                    AND NOT EXISTS (SELECT 1 FROM call_reports r WHERE r.tool_call_id = t.id))
                 ORDER BY c.position DESC LIMIT 1"
            ),
            params![GATE, session, tool, args_digest],
            turn,
        )
    }
}
