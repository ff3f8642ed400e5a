//! Rules inside a transaction: counting a use, and what a change leaves behind.
//!
//! A use is counted only while the rule is in force, in the transaction that records what follows from it.

use serde_json::json;

use crate::protocol::event::EventBody;
use crate::protocol::ids::{ApprovalId, ContinuationId, RuleId, SessionId, ToolCallId};
use crate::protocol::rule::Rule;
use crate::store::command::WriteTx;
use crate::store::error::StoreError;
use crate::store::input::{ActorRef, Basis};
use crate::store::queries::rules::load_rules;
use crate::store::sql::{Statements, ToSql, columns, params};

impl WriteTx<'_> {
    /// Counts a use of what a verdict is based on; false = it is not in force any more, and nothing was counted.
    pub(crate) fn count_use(&self, basis: Basis) -> Result<bool, StoreError> {
        let now = self.now;
        let changed = match basis {
            Basis::Rule(id) => self.conn.run(
                "UPDATE rules SET uses = uses + 1, last_used_at = ?2 WHERE id = ?1 AND enabled = 1
                    AND (expires_at IS NULL OR expires_at > ?2) AND (max_uses IS NULL OR uses < max_uses)",
                params![id, now],
            )?,
            Basis::Grant(id) => self.conn.run(
                "UPDATE session_grants SET uses = uses + 1, last_used_at = ?2 WHERE approval_id = ?1
                    AND (expires_at IS NULL OR expires_at > ?2)",
                params![id, now],
            )?,
        };
        Ok(changed > 0)
    }

    /// Whether what a call is based on is still in force at its start. A rule that has not counted the call counts it now.
    pub(crate) fn still_holds(&self, call: ToolCallId, basis: Basis) -> Result<bool, StoreError> {
        let now = self.now;
        let one = |sql: &str, id: &dyn ToSql| -> Result<bool, StoreError> {
            self.conn.value(sql, params![id, now])
        };
        match basis {
            Basis::Grant(id) => one(
                "SELECT EXISTS (SELECT 1 FROM session_grants WHERE approval_id = ?1
                    AND (expires_at IS NULL OR expires_at > ?2))",
                &id,
            ),
            Basis::Rule(id) => {
                let counted: bool = self.conn.value(
                    "SELECT rule_id IS ?2 FROM tool_calls WHERE id = ?1",
                    params![call, id],
                )?;
                if counted {
                    return one(
                        "SELECT EXISTS (SELECT 1 FROM rules WHERE id = ?1 AND enabled = 1
                            AND (expires_at IS NULL OR expires_at > ?2))",
                        &id,
                    );
                }
                let holds = self.count_use(basis)?;
                if holds {
                    self.decided_by(call, id)?;
                }
                Ok(holds)
            }
        }
    }

    /// Notes the rule that decided a call.
    pub(crate) fn decided_by(&self, call: ToolCallId, rule: RuleId) -> Result<(), StoreError> {
        self.conn.run(
            "UPDATE tool_calls SET rule_id = ?2 WHERE id = ?1",
            params![call, rule],
        )?;
        Ok(())
    }

    /// Audits and announces a rule that was made, changed or removed.
    pub(crate) fn rule_changed(
        &mut self,
        change: &str,
        rule: Rule,
        by: &ActorRef,
    ) -> Result<(), StoreError> {
        let detail = json!({
            "rule": rule.in_words(), "cwd": rule.cwd, "executable": rule.executable, "scope": rule.scope, "session": rule.session_id, "turn": rule.continuation_id, "enabled": rule.enabled,
            "expires_at": rule.expires_at, "max_uses": rule.max_uses, "uses": rule.uses, "note": rule.note,
            "approval": rule.approval_id, "version": rule.version,
        });
        self.audit(
            &format!("rule.{change}"),
            by,
            rule.channel.as_deref(),
            rule.id,
            &detail,
        )?;
        self.emit(
            rule.session_id,
            None,
            EventBody::RuleChanged {
                change: change.to_owned(),
                rule: Box::new(rule),
            },
        )
    }

    /// Removes a rule.
    pub(crate) fn remove_rule(&mut self, rule: Rule, by: &ActorRef) -> Result<(), StoreError> {
        self.conn
            .run("DELETE FROM rules WHERE id = ?1", [rule.id])?;
        self.rule_changed("removed", rule, by)
    }

    /// Audits and announces a session grant that was taken back or has ended with its turn.
    pub(crate) fn grant_removed(
        &mut self,
        approval: ApprovalId,
        session: SessionId,
        tool: String,
        detail: &serde_json::Value,
        by: &ActorRef,
    ) -> Result<(), StoreError> {
        self.audit("grant.removed", by, None, approval, detail)?;
        self.emit(
            Some(session),
            None,
            EventBody::GrantRemoved {
                approval_id: approval,
                tool,
                by: by.label.clone(),
            },
        )
    }

    /// Ends what was allowed until a turn ends: its permissions for shapes and its rules.
    pub(crate) fn end_permissions_of(&mut self, turn: ContinuationId) -> Result<(), StoreError> {
        let ended: Vec<(ApprovalId, SessionId, String)> = self.conn.rows(
            "DELETE FROM session_grants WHERE continuation_id = ?1 RETURNING approval_id, session_id, tool",
            [turn],
            columns!(approval_id, session_id, tool),
        )?;
        for (approval, session, tool) in ended {
            let detail = json!({ "tool": tool, "session": session, "ended_with": turn });
            self.grant_removed(approval, session, tool, &detail, &ActorRef::engine())?;
        }
        for rule in load_rules(self.conn, "WHERE continuation_id = ?1", [turn])? {
            self.remove_rule(rule, &ActorRef::engine())?;
        }
        Ok(())
    }

    /// Removes the rules of a session that ends.
    pub(crate) fn end_rules_of(&mut self, session: SessionId) -> Result<(), StoreError> {
        for rule in load_rules(self.conn, "WHERE session_id = ?1", [session])? {
            self.remove_rule(rule, &ActorRef::engine())?;
        }
        Ok(())
    }

    /// Removes the rule that was made on a question whose answer is taken back.
    pub(crate) fn take_back_rule_of(
        &mut self,
        approval: ApprovalId,
        by: &ActorRef,
    ) -> Result<(), StoreError> {
        for rule in load_rules(self.conn, "WHERE approval_id = ?1", [approval])? {
            self.remove_rule(rule, by)?;
        }
        Ok(())
    }
}
