//! What a session said before, and what became of past calls.

use crate::clock::Timestamp;
use crate::protocol::approval::{Decision, PlanFacts, Speaker};
use crate::protocol::artifact::Attachment;
use crate::protocol::enums::{Access, DecisionKind, Effect, Risk};
use crate::protocol::ids::{ContinuationId, SessionId};
use crate::protocol::policy::Verdict;
use crate::protocol::session::{Step, StepBody};
use crate::store::error::StoreError;
use crate::store::queries::steps::load_steps;
use crate::store::queries::turn::{CallRow, load_calls};
use crate::store::reader::Reader;
use crate::store::sql::{Statements, columns, params};

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

/// The end of the index on the session holds the newest rows in order: as many are read as are wanted.
const HISTORY: &str =
    "SELECT id, coalesce(sent_text, text) AS text, requester_display, speaker, attachments FROM continuations
     WHERE session_id = ?1 AND +state = 'completed' AND +archived_at IS NULL
        AND position > coalesce((SELECT covers_to FROM summaries WHERE session_id = ?1), 0)
        AND position < (SELECT position FROM continuations WHERE id = ?2)
     ORDER BY position DESC LIMIT ?3";

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
        let mut left = exchanges;
        let wants = |_: Option<&Exchange>| {
            let wanted = left > 0;
            left = left.saturating_sub(1);
            wanted
        };
        Ok(self.history_while(session, before, wants)?.0)
    }

    /// The same, as many as are wanted: asked before the newest of them is read, and again with each that was. Says
    /// whether there are more.
    pub fn history_while(
        &self,
        session: SessionId,
        before: ContinuationId,
        mut wants: impl FnMut(Option<&Exchange>) -> bool,
    ) -> Result<(Vec<Exchange>, bool), StoreError> {
        let mut exchanges: Vec<Exchange> = Vec::new();
        let mut more = false;
        self.conn
            .each_while(HISTORY, params![session, before, -1], |head| {
                if !wants(exchanges.last()) {
                    more = true;
                    return Ok(false);
                }
                let continuation_id = head.get("id")?;
                let steps = load_steps(self.conn, continuation_id)?;
                // Most turns of a conversation call no tool: they cost one statement less.
                let calls = if steps.iter().any(calls_tools) {
                    load_calls(self.conn, continuation_id)?
                } else {
                    Vec::new()
                };
                exchanges.push(columns!(head => Exchange {
                    requester = "requester_display", text;
                    continuation_id, steps, calls,
                    speaker: head.json_opt("speaker")?,
                    attachments: head.json_opt("attachments")?.unwrap_or_default(),
                }));
                Ok(true)
            })?;
        exchanges.reverse();
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
            &format!("EXPLAIN QUERY PLAN {HISTORY}"),
            params![[0_u8; 16], [0_u8; 16], 1],
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
