//! What a session said before, and what became of past calls.

use crate::clock::Timestamp;
use crate::protocol::approval::{Decision, PlanFacts, Requester, Speaker};
use crate::protocol::artifact::Attachment;
use crate::protocol::enums::{Access, DecisionKind, Effect, Risk};
use crate::protocol::ids::{ContinuationId, SessionId};
use crate::protocol::policy::Verdict;
use crate::protocol::session::{Step, StepBody};
use crate::store::error::StoreError;
use crate::store::queries::turn::{CallRow, load_calls};
use crate::store::reader::Reader;
use crate::store::rows::requester;
use crate::store::sql::{Connection, Params, Statements, columns, params};

/// One completed turn.
#[derive(Debug, Clone, PartialEq)]
pub struct Exchange {
    pub continuation_id: ContinuationId,
    /// Who sent the message: outside text.
    pub requester: String,
    /// What models are told of them; none in messages of earlier versions.
    pub speaker: Option<Speaker>,
    /// The user's message as models read it: outside text.
    pub text: String,
    /// Files that came with it.
    pub attachments: Vec<Attachment>,
    /// Its steps in order.
    pub steps: Vec<Step>,
    /// Its calls in order.
    pub calls: Vec<CallRow>,
}

/// A call that was evaluated before.
#[derive(Debug, Clone, PartialEq)]
pub struct PastCall {
    pub tool: String,
    /// One line of its arguments.
    pub preview: String,
    /// Arguments: outside text.
    pub args: serde_json::Value,
    /// Where it would have run, and on what.
    pub plan: PlanFacts,
    /// What it touched.
    pub access: Access,
    /// Recovery class.
    pub effect: Effect,
    pub risk: Risk,
    /// Whether untrusted content was in context when it asked.
    pub tainted: bool,
    /// What the policy said.
    pub verdict: Verdict,
    /// What a person said, if asked.
    pub decision: Option<DecisionKind>,
    /// When it was proposed.
    pub at: Timestamp,
}

/// A completed turn, and who sent its message.
#[derive(Debug, Clone, PartialEq)]
pub struct OldTurn {
    pub requester: Requester,
    /// What was said and done.
    pub exchange: Exchange,
}

/// The condition of the history of a session. `?1` = session, `?2` = the turn that asks. The index on the session holds its
/// turns in order, so that SQLite reads no more of them than are wanted.
const HISTORY: &str = "c.session_id = ?1 AND +c.state = 'completed' AND +c.archived_at IS NULL
    AND c.position > coalesce((SELECT covers_to FROM summaries WHERE session_id = ?1), 0)
    AND c.position < (SELECT position FROM continuations WHERE id = ?2)";

/// The end of a session from which turns are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadFrom {
    /// The oldest turn comes first.
    Oldest,
    /// The newest turn comes first.
    Newest,
}

/// The statement for the turns `c` of a condition, with their steps. Each turn of a conversation reads the earlier ones, so
/// that one statement reads them all.
fn select_turns(condition: &str, from: ReadFrom) -> String {
    let order = match from {
        ReadFrom::Oldest => "ASC",
        ReadFrom::Newest => "DESC",
    };
    format!(
        "SELECT c.id, coalesce(c.sent_text, c.text) AS sent_text, c.requester_id, c.requester_display,
            c.requester_person, c.speaker, c.attachments, s.n, s.kind, s.body, s.at
         FROM continuations c LEFT JOIN steps s ON s.continuation_id = c.id
         WHERE {condition} ORDER BY c.position {order}, s.n"
    )
}

/// Reads the turns `c` of a condition as long as `wants` says so. It is asked before the first turn, and then with each turn
/// that was read. Also says whether there are more.
pub(crate) fn read_turns(
    conn: &Connection,
    condition: &str,
    from: ReadFrom,
    params: impl Params,
    mut wants: impl FnMut(Option<&Exchange>) -> bool,
) -> Result<(Vec<OldTurn>, bool), StoreError> {
    let mut turns: Vec<OldTurn> = Vec::new();
    let mut more = false;
    conn.each_while(&select_turns(condition, from), params, |row| {
        let continuation_id = row.get("id")?;
        if turns.last().map(|turn| turn.exchange.continuation_id) != Some(continuation_id) {
            let last = turns.last_mut().map(|turn| &mut turn.exchange);
            if !wants(read_calls(conn, last)?) {
                more = true;
                return Ok(false);
            }
            let requester = requester(row)?;
            turns.push(OldTurn {
                exchange: columns!(row => Exchange {
                    text = "sent_text";
                    continuation_id,
                    requester: requester.display.clone(),
                    speaker: row.json_opt("speaker")?,
                    attachments: row.json_opt("attachments")?.unwrap_or_default(),
                    steps: Vec::new(),
                    calls: Vec::new(),
                }),
                requester,
            });
        }
        if let (Some(turn), Some(n)) = (turns.last_mut(), row.get("n")?) {
            turn.exchange.steps.push(columns!(row => Step {
                kind, at;
                n,
                continuation_id,
                body: row.json("body")?,
            }));
        }
        Ok(true)
    })?;
    if !more {
        read_calls(conn, turns.last_mut().map(|turn| &mut turn.exchange))?;
    }
    Ok((turns, more))
}

/// Reads the calls of a turn whose steps are read. Most turns of a conversation call no tool: they cost no statement.
fn read_calls<'a>(
    conn: &Connection,
    exchange: Option<&'a mut Exchange>,
) -> Result<Option<&'a Exchange>, StoreError> {
    let Some(exchange) = exchange else {
        return Ok(None);
    };
    if exchange.steps.iter().any(calls_tools) {
        exchange.calls = load_calls(conn, exchange.continuation_id)?;
    }
    Ok(Some(exchange))
}

/// Wants this many turns.
pub(crate) fn at_most(turns: usize) -> impl FnMut(Option<&Exchange>) -> bool {
    let mut left = turns;
    move |_| {
        let wanted = left > 0;
        left = left.saturating_sub(1);
        wanted
    }
}

fn calls_tools(step: &Step) -> bool {
    matches!(&step.body, StepBody::Model { tool_calls, .. } if !tool_calls.is_empty())
}

impl Reader<'_> {
    /// The last completed exchanges of a session before a continuation that its summary does not cover, oldest first.
    pub fn history(
        &self,
        session: SessionId,
        before: ContinuationId,
        exchanges: u32,
    ) -> Result<Vec<Exchange>, StoreError> {
        Ok(self
            .history_while(session, before, at_most(exchanges as usize))?
            .0)
    }

    /// The same, as many as are wanted: asked before the newest of them is read, and again with each that was. Says
    /// whether there are more.
    pub fn history_while(
        &self,
        session: SessionId,
        before: ContinuationId,
        wants: impl FnMut(Option<&Exchange>) -> bool,
    ) -> Result<(Vec<Exchange>, bool), StoreError> {
        let params = params![session, before];
        let (turns, more) = read_turns(self.conn, HISTORY, ReadFrom::Newest, params, wants)?;
        let exchanges = turns.into_iter().rev().map(|turn| turn.exchange).collect();
        Ok((exchanges, more))
    }

    /// Completed turns of a session that retention removed and its summary does not stand for.
    pub fn removed_turns(&self, session: SessionId) -> Result<u64, StoreError> {
        let removed: i64 = self.conn.value(
            "SELECT s.removed_turns - coalesce(
                (SELECT m.removed_turns FROM summaries m WHERE m.session_id = s.id), 0)
             FROM sessions s WHERE s.id = ?1",
            [session],
        )?;
        Ok(removed.max(0).unsigned_abs())
    }

    /// How SQLite goes about [`Reader::history`], a line a table.
    pub fn history_plan(&self) -> Result<Vec<String>, StoreError> {
        self.conn.rows(
            &format!(
                "EXPLAIN QUERY PLAN {}",
                select_turns(HISTORY, ReadFrom::Newest)
            ),
            params![[0_u8; 16], [0_u8; 16]],
            |row| row.get("detail"),
        )
    }

    /// The newest calls of a channel, newest first.
    pub fn past_calls(&self, channel: &str, limit: u32) -> Result<Vec<PastCall>, StoreError> {
        self.conn.rows(
            "SELECT c.name, c.preview, c.args, c.access, c.effect, c.risk, c.verdict, c.rule, c.policy_version,
                a.taint, a.decision_body, c.created_at, c.plan
             FROM tool_calls c LEFT JOIN approvals a ON a.id = c.approval_id
             WHERE c.channel = ?1 ORDER BY c.position DESC LIMIT ?2",
            params![channel, limit],
            |row| {
                let taint: Option<Vec<String>> = row.json_opt("taint")?;
                let decision: Option<Decision> = row.json_opt("decision_body")?;
                Ok(columns!(row => PastCall {
                    tool = "name", preview, access, effect, risk, at = "created_at";
                    args: row.json("args")?,
                    plan: row.json("plan")?,
                    tainted: taint.is_some_and(|taint| !taint.is_empty()),
                    verdict: columns!(row => Verdict {
                        decision = "verdict", rule, policy_version,
                    }),
                    decision: decision.map(|decision| decision.decision),
                }))
            },
        )
    }
}
