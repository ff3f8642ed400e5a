//! Questions of external agents, found by the keys under which they ask.

use serde_json::Value;

use crate::clock::Timestamp;
use crate::protocol::enums::ContinuationState;
use crate::protocol::gate::GATE;
use crate::protocol::ids::{ContinuationId, SessionId};
use crate::store::error::StoreError;
use crate::store::reader::Reader;
use crate::store::sql::{Row, Statements, columns, params};

/// The turn of one question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateTurn {
    pub continuation_id: ContinuationId,
    pub session_id: SessionId,
    pub state: ContinuationState,
    /// The key under which it was asked.
    pub request: String,
    /// The key of the conversation.
    pub conversation: String,
    /// Whether the program of a job ends while it waits.
    pub deferred: bool,
    pub updated_at: Timestamp,
}

const TURN: &str = "SELECT c.id, c.session_id, c.state, i.key, c.updated_at, s.conversation,
        coalesce(json_extract(c.options, '$.call.external.deferred'), 0) AS deferred
     FROM inbox i JOIN continuations c ON c.id = i.continuation_id JOIN sessions s ON s.id = c.session_id
     WHERE i.channel = ?1 AND i.key IS NOT NULL AND json_extract(c.options, '$.call.external') IS NOT NULL";

fn turn(row: &Row<'_>) -> Result<GateTurn, StoreError> {
    Ok(columns!(row => GateTurn {
        continuation_id = "id", session_id, state, request = "key", conversation, deferred,
        updated_at,
    }))
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

    /// The newest call of a session with these arguments whose end nobody has reported, and which the program gave no id:
    /// its own questions have none, and some programs have none at all. Looks at the newest hundred.
    pub fn unreported_gate_turn(
        &self,
        session: SessionId,
        tool: &str,
        args: &Value,
    ) -> Result<Option<GateTurn>, StoreError> {
        let open: Vec<(GateTurn, Value)> = self.conn.rows(
            "SELECT c.id, c.session_id, c.state, i.key, c.updated_at, s.conversation, t.args,
                coalesce(json_extract(c.options, '$.call.external.deferred'), 0) AS deferred
             FROM tool_calls t JOIN continuations c ON c.id = t.continuation_id
                JOIN inbox i ON i.continuation_id = c.id AND i.channel = ?1 AND i.key IS NOT NULL
                JOIN sessions s ON s.id = c.session_id
             WHERE c.session_id = ?2 AND t.name = ?3
                AND json_extract(c.options, '$.call.external') IS NOT NULL
                AND json_extract(c.options, '$.call.external.call') IS NULL
                AND NOT EXISTS (SELECT 1 FROM call_reports r WHERE r.tool_call_id = t.id)
             ORDER BY c.position DESC LIMIT 100",
            params![GATE, session, tool],
            |row| Ok((turn(row)?, row.json("args")?)),
        )?;
        let mut open = open.into_iter();
        Ok(open.find(|(_, asked)| asked == args).map(|(turn, _)| turn))
    }
}
