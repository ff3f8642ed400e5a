//! Rules and permissions for shapes. Not among the invariants of DESIGN.md by number: they are named `rule`.

use crate::store::check::rule::{Rule, Subject, query};

pub(crate) const RULES: &[Rule] = &[
    query(
        "rule",
        "rule that counts fewer uses than the calls it decided",
        "rules",
        Subject::Text,
        "SELECT 'rule ' || lower(hex(r.id)) FROM rules r
         WHERE r.uses < (SELECT count(*) FROM tool_calls c WHERE c.rule_id = r.id)",
    ),
    query(
        "rule",
        "rule of a session that has ended",
        "rules",
        Subject::Text,
        "SELECT 'rule ' || lower(hex(r.id)) FROM rules r JOIN sessions s ON s.id = r.session_id
         WHERE s.state <> 'active'",
    ),
    query(
        "rule",
        "rule of a turn that has ended",
        "rules",
        Subject::Text,
        "SELECT 'rule ' || lower(hex(r.id)) FROM rules r JOIN continuations c ON c.id = r.continuation_id
         WHERE c.ended_at IS NOT NULL",
    ),
    query(
        "rule",
        "permission for a shape of a turn that has ended",
        "session_grants",
        Subject::Approval,
        "SELECT g.approval_id FROM session_grants g JOIN continuations c ON c.id = g.continuation_id
         WHERE c.ended_at IS NOT NULL",
    ),
    query(
        "rule",
        "permission for a shape that was of high risk or tainted",
        "session_grants",
        Subject::Approval,
        "SELECT g.approval_id FROM session_grants g JOIN approvals p ON p.id = g.approval_id
            JOIN tool_calls c ON c.id = p.tool_call_id
         WHERE p.taint <> '[]' OR c.approval_id = p.id AND c.risk IN ('high', 'critical')",
    ),
];
