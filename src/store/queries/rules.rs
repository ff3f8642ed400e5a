//! Rules, permissions for shapes, and the calls of the past that a rule is tried on.

use crate::clock::Timestamp;
use crate::protocol::approval::{Decision, PlanFacts};
use crate::protocol::enums::VerdictKind;
use crate::protocol::ids::{ContinuationId, RuleId, SessionId};
use crate::protocol::rule::{Grant, Rule, RuleMatch};
use crate::store::error::StoreError;
use crate::store::reader::Reader;
use crate::store::sql::{Connection, Params, Row, Statements, columns, params};

const RULE: &str = "SELECT id, tool, field, matcher, value, scope, channel, session_id, verdict, enabled, expires_at,
        max_uses, uses, last_used_at, note, approval_id, by_label, version, created_at, updated_at,
        cwd, executable, continuation_id
     FROM rules";

fn rule_row(row: &Row<'_>) -> Result<Rule, StoreError> {
    Ok(columns!(row => Rule {
        id, tool, field, matcher, value, scope, channel, session_id, continuation_id, verdict,
        enabled, expires_at, max_uses, uses, last_used_at, note, approval_id, by = "by_label",
        version, created_at, updated_at, cwd, executable;
        never_used: None,
    }))
}

/// Rules that a condition picks, newest first.
pub(crate) fn load_rules(
    conn: &Connection,
    condition: &str,
    values: impl Params,
) -> Result<Vec<Rule>, StoreError> {
    conn.rows(
        &format!("{RULE} {condition} ORDER BY position DESC"),
        values,
        rule_row,
    )
}

/// One rule.
pub(crate) fn load_rule(conn: &Connection, id: RuleId) -> Result<Rule, StoreError> {
    conn.row_opt(&format!("{RULE} WHERE id = ?1"), [id], rule_row)?
        .ok_or_else(|| StoreError::not_found("rule", id))
}

/// A call of the past, as a rule is tried on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TriedCall {
    /// What is told of it.
    pub told: RuleMatch,
    pub session_id: SessionId,
    /// Its turn.
    pub continuation_id: ContinuationId,
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

    /// Rules in force for a turn of a session of a channel at `now`, newest first. Whether an allowing one is used up is left to
    /// who asks: the call that used it up goes on.
    pub fn rules_in_force(
        &self,
        channel: &str,
        session: Option<SessionId>,
        turn: Option<ContinuationId>,
        now: Timestamp,
    ) -> Result<Vec<Rule>, StoreError> {
        load_rules(
            self.conn,
            "WHERE enabled = 1 AND (expires_at IS NULL OR expires_at > ?3)
                AND (scope = 'global' OR channel = ?1 OR session_id = ?2 AND scope = 'session' OR continuation_id = ?4)",
            params![channel, session, now, turn],
        )
    }

    /// Permissions for shapes that hold at `now`, newest first.
    pub fn all_grants(&self, now: Timestamp) -> Result<Vec<Grant>, StoreError> {
        self.conn.rows(
            "SELECT g.approval_id, g.session_id, s.channel, s.conversation, g.tool, c.preview, c.args,
                g.requester_id, g.by_label, g.uses, g.last_used_at, g.created_at, g.expires_at, g.continuation_id
             FROM session_grants g JOIN sessions s ON s.id = g.session_id
                LEFT JOIN approvals a ON a.id = g.approval_id LEFT JOIN tool_calls c ON c.id = a.tool_call_id
             WHERE g.expires_at IS NULL OR g.expires_at > ?1 ORDER BY g.created_at DESC, g.approval_id",
            [now],
            |row| {
                let preview: Option<String> = row.get("preview")?;
                Ok(columns!(row => Grant {
                    id = "approval_id", session_id, channel, conversation, tool, requester_id,
                    by = "by_label", uses, last_used_at, created_at, continuation_id, expires_at;
                    preview: preview.unwrap_or_default(),
                    args: row.json_opt("args")?,
                }))
            },
        )
    }

    /// Gives the calls since a time to `each`, newest first, at most `limit`; whether there were more.
    pub fn each_call_since(
        &self,
        since: Timestamp,
        limit: u32,
        mut each: impl FnMut(TriedCall),
    ) -> Result<bool, StoreError> {
        let (mut seen, mut more) = (0, false);
        self.conn.each_while(
            "SELECT c.id, c.channel, c.name, c.preview, c.risk, c.verdict, a.decision_body, c.state, c.created_at,
                t.session_id, c.continuation_id, c.args, c.rule, a.taint, c.plan
             FROM tool_calls c JOIN continuations t ON t.id = c.continuation_id
                LEFT JOIN approvals a ON a.id = c.approval_id
             ORDER BY c.position DESC LIMIT ?1",
            [limit + 1],
            |row| {
                let at: Timestamp = row.get("created_at")?;
                if at < since {
                    return Ok(false);
                }
                seen += 1;
                if seen > limit {
                    more = true;
                    return Ok(false);
                }
                let decision: Option<Decision> = row.json_opt("decision_body")?;
                let taint: Option<Vec<String>> = row.json_opt("taint")?;
                let was: VerdictKind = row.get("verdict")?;
                each(columns!(row => TriedCall {
                    session_id, continuation_id, rule;
                    told: columns!(row => RuleMatch {
                        call_id = "id", channel, tool = "name", preview, risk, state;
                        was, at,
                        by: decision.as_ref().map(|decision| decision.by.clone()),
                        decision: decision.map(|decision| decision.decision),
                        kept_by: None,
                    }),
                    args: row.json("args")?,
                    plan: row.json("plan")?,
                    tainted: taint.is_some_and(|taint| !taint.is_empty()),
                }));
                Ok(true)
            },
        )?;
        Ok(more)
    }
}
