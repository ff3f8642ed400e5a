//! What hooks did to calls, and what observers are told beside the event itself.

use rusqlite::{Connection, OptionalExtension};
use serde_json::Value;

use crate::protocol::approval::Requester;
use crate::protocol::hook::HookNote;
use crate::protocol::ids::{ContinuationId, SessionId, ToolCallId};
use crate::store::error::StoreError;
use crate::store::queries::turn::load_call;
use crate::store::reader::Reader;
use crate::store::rows::json_opt;

/// What is known of what an event is about.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HookFacts {
    /// Channel name and conversation key.
    pub place: Option<(String, String)>,
    /// Who asked for the turn.
    pub requester: Option<Requester>,
    /// The user's message: outside text.
    pub text: Option<String>,
    /// The call's tool, arguments and result: outside text.
    pub call: Option<(String, Value, Option<String>)>,
}

/// What hooks did to a call, in order.
pub(crate) fn load_notes(conn: &Connection, call: ToolCallId) -> Result<Vec<HookNote>, StoreError> {
    let notes = conn
        .prepare_cached("SELECT hooks FROM tool_calls WHERE id = ?1")?
        .query_row([call.to_bytes()], |row| json_opt(row, 0))
        .optional()?;
    Ok(notes.flatten().unwrap_or_default())
}

impl Reader<'_> {
    /// What an event is about. What is gone is left out.
    pub fn hook_facts(
        &self,
        session: Option<SessionId>,
        continuation: Option<ContinuationId>,
        call: Option<ToolCallId>,
    ) -> Result<HookFacts, StoreError> {
        let mut facts = HookFacts::default();
        if let Some(session) = session {
            facts.place = self
                .conn
                .prepare_cached("SELECT channel, conversation FROM sessions WHERE id = ?1")?
                .query_row([session.to_bytes()], |row| Ok((row.get(0)?, row.get(1)?)))
                .optional()?;
        }
        if let Some(continuation) = continuation {
            let found = self
                .conn
                .prepare_cached(
                    "SELECT requester_id, requester_display, requester_person, text FROM continuations WHERE id = ?1",
                )?
                .query_row([continuation.to_bytes()], |row| {
                    let requester = Requester {
                        id: row.get(0)?,
                        display: row.get(1)?,
                        person: row.get(2)?,
                    };
                    Ok((requester, row.get(3)?))
                })
                .optional()?;
            (facts.requester, facts.text) = found.unzip();
        }
        if let Some(call) = call {
            let row = load_call(self.conn, call)?.call;
            facts.call = Some((row.name, row.args, row.result));
        }
        Ok(facts)
    }
}
