//! What waits, and what nobody knows.

use crate::clock::Timestamp;
use crate::protocol::ids::SessionId;
use crate::protocol::uncertain::{
    OpenQuestion, Uncertain, UncertainCall, UncertainTotals, WaitingConversation, WaitingTurn,
};
use crate::store::error::StoreError;
use crate::store::meta;
use crate::store::queries::approvals::load_approvals;
use crate::store::queries::channels::held;
use crate::store::queries::outbox::load_items;
use crate::store::reader::Reader;
use crate::store::rows::preview;
use crate::store::sql::{Row, Statements, columns, params};

/// Entries of each list.
const LISTED: u32 = 200;

/// Of which database it is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovered {
    /// One that this program has recovered: what is in flight is in good hands.
    Yes,
    /// A copy that nobody has started: what was in flight then is as uncertain as the rest.
    NotYet,
}

impl Recovered {
    const fn turns(self) -> &'static str {
        match self {
            Self::Yes => "c.ended_at IS NULL AND c.state IN ('pending', 'interrupted')",
            Self::NotYet => {
                "c.ended_at IS NULL AND c.state IN ('pending', 'interrupted', 'running')"
            }
        }
    }

    const fn calls(self) -> &'static str {
        match self {
            Self::Yes => "t.state = 'indeterminate' AND c.ended_at IS NULL",
            Self::NotYet => {
                "c.ended_at IS NULL AND (t.state IN ('indeterminate', 'started', 'approved')
                    OR (t.state = 'ready' AND t.effect NOT IN ('read_only', 'idempotent')))"
            }
        }
    }

    const fn deliveries(self) -> &'static str {
        match self {
            Self::Yes => "state = 'unknown'",
            Self::NotYet => {
                "(state IN ('unknown', 'sending') OR (state = 'pending' AND class IN ('final', 'notice')))"
            }
        }
    }
}

fn turn_row(
    row: &Row<'_>,
) -> Result<(SessionId, String, String, Option<String>, WaitingTurn), StoreError> {
    let text: String = row.get("text")?;
    Ok((
        row.get("session_id")?,
        row.get("channel")?,
        row.get("conversation")?,
        row.get("title")?,
        columns!(row => WaitingTurn {
            continuation_id = "turn", state, created_at;
            text: preview(
                text.lines()
                    .find(|line| !line.trim().is_empty())
                    .unwrap_or(""),
            ),
        }),
    ))
}

impl Reader<'_> {
    /// What waits, and what nobody knows; `at` is the time it is asked.
    pub fn uncertain(&self, at: Timestamp, recovered: Recovered) -> Result<Uncertain, StoreError> {
        let count = |query: &str| -> Result<u64, StoreError> { self.conn.value(query, []) };
        let (turns, calls, deliveries) =
            (recovered.turns(), recovered.calls(), recovered.deliveries());
        let oldest_at = self.conn.value(
            &format!("SELECT min(c.created_at) FROM continuations c WHERE {turns}"),
            [],
        )?;
        let totals = UncertainTotals {
            turns: count(&format!(
                "SELECT count(*) FROM continuations c WHERE {turns}"
            ))?,
            calls: count(&format!(
                "SELECT count(*) FROM tool_calls t JOIN continuations c ON c.id = t.continuation_id WHERE {calls}"
            ))?,
            deliveries: count(&format!("SELECT count(*) FROM outbox WHERE {deliveries}"))?,
            questions: count("SELECT count(*) FROM approvals WHERE state = 'pending'")?,
        };
        Ok(Uncertain {
            at,
            quarantine: meta::quarantined(self.conn)?,
            held_since: held(self.conn)?.map(|(since, _)| since),
            oldest_at,
            totals,
            conversations: self.waiting_conversations(turns)?,
            calls: self.uncertain_calls(calls)?,
            deliveries: load_items(
                self.conn,
                &format!("WHERE {deliveries} ORDER BY position DESC LIMIT ?1"),
                [LISTED],
            )?
            .into_iter()
            .map(|(_, item)| item)
            .collect(),
            questions: load_approvals(
                self.conn,
                "WHERE a.state = 'pending' ORDER BY a.position DESC LIMIT ?1",
                [LISTED],
            )?
            .into_iter()
            .map(|(_, approval)| OpenQuestion {
                id: approval.id,
                short_code: approval.short_code,
                kind: approval.kind,
                channel: approval.channel,
                tool: approval.tool,
                risk: approval.risk,
                requested_at: approval.requested_at,
            })
            .collect(),
        })
    }

    fn waiting_conversations(&self, turns: &str) -> Result<Vec<WaitingConversation>, StoreError> {
        let mut found: Vec<WaitingConversation> = Vec::new();
        let rows = self.conn.rows(
            &format!(
                "SELECT * FROM (
                    SELECT s.id AS session_id, s.channel, s.conversation, s.title, c.id AS turn,
                        c.state, substr(c.text, 1, 2000) AS text, c.created_at, c.position AS position
                    FROM continuations c JOIN sessions s ON s.id = c.session_id
                    WHERE {turns} ORDER BY c.position DESC LIMIT ?1)
                 ORDER BY position"
            ),
            params![LISTED],
            turn_row,
        )?;
        for (session_id, channel, conversation, title, turn) in rows {
            match found
                .iter_mut()
                .find(|known| known.session_id == session_id)
            {
                Some(known) => known.turns.push(turn),
                None => found.push(WaitingConversation {
                    session_id,
                    channel,
                    conversation,
                    title,
                    turns: vec![turn],
                }),
            }
        }
        Ok(found)
    }

    fn uncertain_calls(&self, calls: &str) -> Result<Vec<UncertainCall>, StoreError> {
        self.conn.rows(
            &format!(
                "SELECT t.id, t.continuation_id, t.name, t.preview, t.effect, t.state, t.started_at
                 FROM tool_calls t JOIN continuations c ON c.id = t.continuation_id
                 WHERE {calls} ORDER BY t.position DESC LIMIT ?1"
            ),
            [LISTED],
            |row| {
                Ok(columns!(row => UncertainCall {
                    id, continuation_id, name, preview, effect, state, started_at,
                }))
            },
        )
    }
}
