//! Tool servers and the questions about them. Not among the invariants of DESIGN.md by number: they are named `server_pin`.

use crate::store::check::rule::{Rule, Subject, query};

pub(crate) const RULES: &[Rule] = &[
    query(
        "server_pin",
        "question about a tool server that does not wait",
        "tool_servers WHERE approval_id IS NOT NULL",
        Subject::Approval,
        "SELECT t.approval_id, t.name AS note FROM tool_servers t LEFT JOIN approvals a ON a.id = t.approval_id
         WHERE t.approval_id IS NOT NULL AND coalesce(a.state, 'gone') <> 'pending'",
    ),
    query(
        "server_pin",
        "question that waits and is not about what its tool server offers",
        "approvals WHERE kind = 'server_pin' AND state = 'pending'",
        Subject::Approval,
        "SELECT a.id FROM approvals a WHERE a.kind = 'server_pin' AND a.state = 'pending'
            AND NOT EXISTS (SELECT 1 FROM tool_servers t WHERE t.approval_id = a.id AND t.offered_sha256 = a.digest)",
    ),
    query(
        "server_pin",
        "tool that is trusted of a server that is not",
        "server_tools WHERE trusted IS NOT NULL",
        Subject::Text,
        "SELECT s.server || ': ' || s.name FROM server_tools s JOIN tool_servers t ON t.name = s.server
         WHERE s.trusted IS NOT NULL AND t.identity IS NULL",
    ),
];
