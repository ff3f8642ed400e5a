//! Makes, changes and removes rules, and takes permissions for shapes back. Only a person's word leads here.

use crate::clock::Timestamp;
use crate::protocol::enums::{RuleMatcher, RuleScope, SessionState, VerdictKind};
use crate::protocol::ids::{ApprovalId, ContinuationId, RuleId, SessionId};
use crate::protocol::rule::Rule;
use crate::store::command::{WriteCommand, WriteTx};
use crate::store::error::StoreError;
use crate::store::input::ActorRef;
use crate::store::queries::rules::load_rule;
use crate::store::sql::{Statements, columns, params};
use serde_json::json;

/// Rules there may be.
pub const MAX_RULES: u32 = 500;

/// What a person sets of a rule, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleFields {
    /// Tool name, or `prefix*`.
    pub tool: String,
    /// The argument whose value is compared; none = all of them.
    pub field: Option<String>,
    /// How.
    pub matcher: RuleMatcher,
    /// With what.
    pub value: String,
    /// Where the commands run that it allows.
    pub cwd: Option<String>,
    /// The program that they start.
    pub executable: Option<String>,
    /// How far it reaches.
    pub scope: RuleScope,
    pub channel: Option<String>,
    pub session_id: Option<SessionId>,
    /// Its turn; its session follows from it.
    pub continuation_id: Option<ContinuationId>,
    /// What it says.
    pub verdict: VerdictKind,
    /// Whether it is looked at.
    pub enabled: bool,
    /// When it ends.
    pub expires_at: Option<Timestamp>,
    /// Calls it may allow.
    pub max_uses: Option<u64>,
    /// Why it was made.
    pub note: Option<String>,
}

/// Makes a rule, or changes one that has not changed since it was read. Durable; answers it as it is now.
#[derive(Debug, Clone)]
pub struct PutRule {
    pub id: RuleId,
    /// Version that was read; 0 = it is new.
    pub version: u64,
    /// What it is now.
    pub fields: RuleFields,
    /// The question it is made on.
    pub approval_id: Option<ApprovalId>,
    pub by: ActorRef,
}

impl PutRule {
    fn insert(&self, tx: &WriteTx<'_>) -> Result<(), StoreError> {
        let count: u32 = tx.conn.value("SELECT count(*) FROM rules", [])?;
        if count >= MAX_RULES {
            return Err(StoreError::rejected(format!(
                "there are {count} rules; at most {MAX_RULES} are kept: remove one first"
            )));
        }
        // The fields follow in the same transaction.
        tx.conn.run(
            "INSERT INTO rules (id, tool, matcher, value, scope, verdict, approval_id, by_label, version,
                created_at, updated_at)
             VALUES (?1, '', 'exact', '', 'global', 'ask', ?2, '', 0, ?3, ?3)",
            params![self.id, self.approval_id, tx.now],
        )?;
        Ok(())
    }
}

impl WriteCommand for PutRule {
    type Output = Rule;

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<Rule, StoreError> {
        let fields = &self.fields;
        if self.version == 0 {
            self.insert(tx)?;
        }
        let before = load_rule(tx.conn, self.id)?;
        let mut session_id = fields.session_id;
        if let Some(turn) = fields.continuation_id {
            let head = tx.head(turn)?;
            if head.state.is_terminal() {
                return Err(StoreError::rejected(format!(
                    "turn {turn} has ended: a rule of it would match nothing"
                )));
            }
            session_id = Some(head.session_id);
        }
        if let Some(session) = session_id
            && tx.session_state(session)? != SessionState::Active
        {
            return Err(StoreError::rejected(format!(
                "session {session} has ended: a rule of it would match nothing"
            )));
        }
        if let Some(max) = fields.max_uses.filter(|max| *max < before.uses) {
            return Err(StoreError::rejected(format!(
                "the rule {} was used {} times already; `max_uses` {max} is less",
                self.id, before.uses
            )));
        }
        let changed = tx.conn.run(
            "UPDATE rules SET tool = ?3, field = ?4, matcher = ?5, value = ?6, scope = ?7, channel = ?8,
                session_id = ?9, verdict = ?10, enabled = ?11, expires_at = ?12, max_uses = ?13, note = ?14,
                by_label = ?15, version = version + 1, updated_at = ?16, cwd = ?17, executable = ?18, continuation_id = ?19
             WHERE id = ?1 AND version = ?2",
            params![
                self.id,
                self.version,
                fields.tool,
                fields.field,
                fields.matcher,
                fields.value,
                fields.scope,
                fields.channel,
                session_id,
                fields.verdict,
                fields.enabled,
                fields.expires_at,
                fields.max_uses,
                fields.note,
                self.by.label,
                tx.now,
                fields.cwd,
                fields.executable,
                fields.continuation_id
            ],
        )?;
        if changed == 0 {
            return Err(StoreError::conflict(format!(
                "the rule {} was changed by {} meanwhile: look at it and try again",
                self.id, before.by
            )));
        }
        let rule = load_rule(tx.conn, self.id)?;
        let change = if self.version == 0 {
            "added"
        } else {
            "changed"
        };
        tx.rule_changed(change, rule.clone(), &self.by)?;
        crate::crash_point!("decide.pre_commit");
        Ok(rule)
    }

    fn committed(&self) {
        crate::crash_point!("decide.post");
    }
}

/// Removes a rule; what it decided stays in the history. Durable.
#[derive(Debug, Clone)]
pub struct RemoveRule {
    pub id: RuleId,
    pub by: ActorRef,
}

impl WriteCommand for RemoveRule {
    type Output = ();

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        let rule = load_rule(tx.conn, self.id)?;
        tx.remove_rule(rule, &self.by)
    }
}

/// Takes a session grant back. Durable.
#[derive(Debug, Clone)]
pub struct RemoveGrant {
    /// The approval it was given with.
    pub id: ApprovalId,
    pub by: ActorRef,
}

impl WriteCommand for RemoveGrant {
    type Output = ();

    fn apply(&self, tx: &mut WriteTx<'_>) -> Result<(), StoreError> {
        let found: Option<(String, SessionId, String)> = tx.conn.row_opt(
            "DELETE FROM session_grants WHERE approval_id = ?1 RETURNING tool, session_id, requester_id",
            [self.id],
            columns!(tool, session_id, requester_id),
        )?;
        let (tool, session, requester) =
            found.ok_or_else(|| StoreError::not_found("session grant", self.id))?;
        let detail = json!({ "tool": tool, "session": session, "requester": requester });
        tx.grant_removed(self.id, session, tool, &detail, &self.by)
    }
}
