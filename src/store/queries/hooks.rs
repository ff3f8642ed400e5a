//! What hooks did to calls, and what observers are told beside the event itself.

use serde_json::Value;

use crate::protocol::approval::Requester;
use crate::protocol::hook::HookNote;
use crate::protocol::ids::{ContinuationId, SessionId, ToolCallId};
use crate::store::error::StoreError;
use crate::store::queries::turn::load_call;
use crate::store::reader::Reader;
use crate::store::rows::requester;
use crate::store::sql::{Connection, Statements, columns};

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
    let notes = conn.row_opt(
        "SELECT hooks FROM tool_calls WHERE id = ?1",
        [call],
        |row| row.json_opt("hooks"),
    )?;
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
            facts.place = self.conn.row_opt(
                "SELECT channel, conversation FROM sessions WHERE id = ?1",
                [session],
                columns!(channel, conversation),
            )?;
        }
        if let Some(continuation) = continuation {
            let found = self.conn.row_opt(
                "SELECT requester_id, requester_display, requester_person, text FROM continuations WHERE id = ?1",
                [continuation],
                |row| {
                    let requester = requester(row)?;
                    Ok((requester, row.get("text")?))
                },
            )?;
            (facts.requester, facts.text) = found.unzip();
        }
        if let Some(call) = call {
            let row = load_call(self.conn, call)?.call;
            facts.call = Some((row.name, row.args, row.result));
        }
        Ok(facts)
    }
}
