//! Rules, permissions for shapes, and the calls of the past that a rule is tried on.

use rusqlite::{Connection, OptionalExtension, Params, Row, params};

use crate::clock::Timestamp;
use crate::protocol::approval::{Decision, PlanFacts};
use crate::protocol::ids::{ApprovalId, RuleId, SessionId, ToolCallId};
use crate::protocol::rule::{Grant, Rule, RuleMatch};
use crate::protocol::words::VerdictWord;
use crate::store::error::StoreError;
use crate::store::reader::Reader;
use crate::store::rows::{json, json_opt, word};

const RULE: &str = "SELECT id, tool, field, matcher, value, scope, channel, session_id, verdict, enabled, expires_at,
        max_uses, uses, last_used_at, note, approval_id, by_label, version, created_at, updated_at,
        cwd, executable
     FROM rules";

fn rule_row(row: &Row<'_>) -> rusqlite::Result<Rule> {
    let time = |index| row.get::<_, Option<i64>>(index).map(|at| at.map(Timestamp));
    Ok(Rule {
        id: RuleId::from_bytes(row.get(0)?),
        tool: row.get(1)?,
        field: row.get(2)?,
        matcher: word(row, 3)?,
        value: row.get(4)?,
        scope: word(row, 5)?,
        channel: row.get(6)?,
        session_id: row
            .get::<_, Option<[u8; 16]>>(7)?
            .map(SessionId::from_bytes),
        verdict: word(row, 8)?,
        enabled: row.get(9)?,
        expires_at: time(10)?,
        max_uses: row.get(11)?,
        uses: row.get(12)?,
        last_used_at: time(13)?,
        note: row.get(14)?,
        approval_id: row
            .get::<_, Option<[u8; 16]>>(15)?
            .map(ApprovalId::from_bytes),
        by: row.get(16)?,
        version: row.get(17)?,
        created_at: Timestamp(row.get(18)?),
        updated_at: Timestamp(row.get(19)?),
        cwd: row.get(20)?,
        executable: row.get(21)?,
        never_used: None,
    })
}

/// Rules that a condition picks, newest first.
pub(crate) fn load_rules(
    conn: &Connection,
    condition: &str,
    values: impl Params,
) -> Result<Vec<Rule>, StoreError> {
    Ok(conn
        .prepare_cached(&format!("{RULE} {condition} ORDER BY position DESC"))?
        .query_map(values, rule_row)?
        .collect::<rusqlite::Result<_>>()?)
}

/// One rule.
pub(crate) fn load_rule(conn: &Connection, id: RuleId) -> Result<Rule, StoreError> {
    conn.prepare_cached(&format!("{RULE} WHERE id = ?1"))?
        .query_row([id.to_bytes()], rule_row)
        .optional()?
        .ok_or_else(|| StoreError::not_found("rule", id))
}

/// A call of the past, as a rule is tried on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TriedCall {
    /// What is told of it.
    pub told: RuleMatch,
    /// Its session.
    pub session_id: SessionId,
    /// Its arguments: outside text.
    pub args: serde_json::Value,
    /// Where it would have run, and on what.
    pub plan: PlanFacts,
    /// The text of what decided it.
    pub rule: String,
    /// Whether untrusted content was in context when it asked.
    pub tainted: bool,
}

impl Reader<'_> {
    /// All rules, newest first.
    pub fn rules(&self) -> Result<Vec<Rule>, StoreError> {
        load_rules(self.conn, "", [])
    }

    /// One rule.
    pub fn rule(&self, id: RuleId) -> Result<Rule, StoreError> {
        load_rule(self.conn, id)
    }

    /// Rules in force for a session of a channel at `now`, newest first. Whether an allowing one is used up is left to
    /// who asks: the call that used it up goes on.
    pub fn rules_in_force(
        &self,
        channel: &str,
        session: Option<SessionId>,
        now: Timestamp,
    ) -> Result<Vec<Rule>, StoreError> {
        load_rules(
            self.conn,
            "WHERE enabled = 1 AND (expires_at IS NULL OR expires_at > ?3)
                AND (scope = 'global' OR channel = ?1 OR session_id = ?2)",
            params![channel, session.map(SessionId::to_bytes), now.as_millis()],
        )
    }

    /// Permissions for shapes that hold at `now`, newest first.
    pub fn all_grants(&self, now: Timestamp) -> Result<Vec<Grant>, StoreError> {
        Ok(self
            .conn
            .prepare_cached(
                "SELECT g.approval_id, g.session_id, s.channel, s.conversation, g.tool, c.preview, c.args,
                    g.requester_id, g.by_label, g.uses, g.last_used_at, g.created_at, g.expires_at
                 FROM session_grants g JOIN sessions s ON s.id = g.session_id
                    LEFT JOIN approvals a ON a.id = g.approval_id LEFT JOIN tool_calls c ON c.id = a.tool_call_id
                 WHERE g.expires_at IS NULL OR g.expires_at > ?1 ORDER BY g.created_at DESC, g.approval_id",
            )?
            .query_map([now.as_millis()], |row| {
                let preview: Option<String> = row.get(5)?;
                Ok(Grant {
                    id: ApprovalId::from_bytes(row.get(0)?),
                    session_id: SessionId::from_bytes(row.get(1)?),
                    channel: row.get(2)?,
                    conversation: row.get(3)?,
                    tool: row.get(4)?,
                    preview: preview.unwrap_or_default(),
                    args: json_opt(row, 6)?,
                    requester_id: row.get(7)?,
                    by: row.get(8)?,
                    uses: row.get(9)?,
                    last_used_at: row.get::<_, Option<i64>>(10)?.map(Timestamp),
                    created_at: Timestamp(row.get(11)?),
                    expires_at: row.get::<_, Option<i64>>(12)?.map(Timestamp),
                })
            })?
            .collect::<rusqlite::Result<_>>()?)
    }

    /// Gives the calls since a time to `each`, newest first, at most `limit`; whether there were more.
    pub fn each_call_since(
        &self,
        since: Timestamp,
        limit: u32,
        mut each: impl FnMut(TriedCall),
    ) -> Result<bool, StoreError> {
        let mut statement = self.conn.prepare_cached(
            "SELECT c.id, c.channel, c.name, c.preview, c.risk, c.verdict, a.decision_body, c.state, c.created_at,
                t.session_id, c.args, c.rule, a.taint, c.plan
             FROM tool_calls c JOIN continuations t ON t.id = c.continuation_id
                LEFT JOIN approvals a ON a.id = c.approval_id
             ORDER BY c.position DESC LIMIT ?1",
        )?;
        let mut rows = statement.query([limit + 1])?;
        let mut seen = 0;
        while let Some(row) = rows.next()? {
            let at = Timestamp(row.get(8)?);
            if at < since {
                return Ok(false);
            }
            seen += 1;
            if seen > limit {
                return Ok(true);
            }
            let decision: Option<Decision> = json_opt(row, 6)?;
            let taint: Option<Vec<String>> = json_opt(row, 12)?;
            let was: VerdictWord = word(row, 5)?;
            each(TriedCall {
                told: RuleMatch {
                    call_id: ToolCallId::from_bytes(row.get(0)?),
                    channel: row.get(1)?,
                    tool: row.get(2)?,
                    preview: row.get(3)?,
                    risk: word(row, 4)?,
                    was,
                    by: decision.as_ref().map(|decision| decision.by.clone()),
                    decision: decision.map(|decision| decision.decision),
                    state: word(row, 7)?,
                    kept_by: None,
                    at,
                },
                session_id: SessionId::from_bytes(row.get(9)?),
                args: json(row, 10)?,
                plan: json(row, 13)?,
                rule: row.get(11)?,
                tainted: taint.is_some_and(|taint| !taint.is_empty()),
            });
        }
        Ok(false)
    }
}
