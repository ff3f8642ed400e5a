//! What people allowed, hold, trust and are asked in particular. Not among the invariants of DESIGN.md by number: the rules
//! are named `rule`, `take-over`, `pairing`, `server_pin` and `assign`.

use crate::store::check::rule::{Rule, Subject, query};

pub(crate) const RULES: &[Rule] = &[
    // Rules and permissions for shapes.
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
        "grant of a turn that has ended",
        "session_grants",
        Subject::Approval,
        "SELECT g.approval_id FROM session_grants g JOIN continuations c ON c.id = g.continuation_id
         WHERE c.ended_at IS NOT NULL",
    ),
    query(
        "rule",
        "grant for a call of high risk or with untrusted content",
        "session_grants",
        Subject::Approval,
        "SELECT g.approval_id FROM session_grants g JOIN approvals p ON p.id = g.approval_id
            JOIN tool_calls c ON c.id = p.tool_call_id
         WHERE p.taint <> '[]' OR c.approval_id = p.id AND c.risk IN ('high', 'critical')",
    ),
    // Conversations that people hold.
    query(
        "take-over",
        "take-over on a channel that does not exist",
        "take_overs",
        Subject::Text,
        "SELECT t.channel || ' ' || t.conversation FROM take_overs t
         WHERE NOT EXISTS (SELECT 1 FROM channel_accounts a WHERE a.name = t.channel)",
    ),
    // People with access by pairing.
    query(
        "pairing",
        "pairing that says otherwise than the question about it",
        "pairings",
        Subject::Approval,
        "SELECT p.approval_id, p.state AS note FROM pairings p LEFT JOIN approvals a ON a.id = p.approval_id
         WHERE coalesce(a.state, CASE p.state WHEN 'pending' THEN 'gone' END) <> CASE p.state
            WHEN 'pending' THEN 'pending' WHEN 'accepted' THEN 'consumed' WHEN 'refused' THEN 'denied'
            WHEN 'expired' THEN 'expired' ELSE a.state END",
    ),
    query(
        "pairing",
        "question about somebody new without a pairing",
        "approvals WHERE kind = 'pairing' AND state = 'pending'",
        Subject::Approval,
        "SELECT a.id FROM approvals a WHERE a.kind = 'pairing' AND a.state = 'pending'
            AND NOT EXISTS (SELECT 1 FROM pairings p WHERE p.approval_id = a.id AND p.state = 'pending')",
    ),
    query(
        "pairing",
        "channel on which more than three ask at a time",
        "pairings WHERE state = 'pending'",
        Subject::Text,
        "SELECT channel || ' with ' || count(*) FROM pairings WHERE state = 'pending'
         GROUP BY channel HAVING count(*) > 3",
    ),
    // Tool servers and the questions about them.
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
    // Questions that wait for somebody in particular, who allowed them first, how they escalate, and who is on call.
    query(
        "assign",
        "question that waits for somebody without a name, a time or whoever assigned it",
        "approvals WHERE waiting_for IS NOT NULL",
        Subject::Approval,
        "SELECT id FROM approvals WHERE waiting_for IS NOT NULL
            AND (coalesce(waiting_for ->> 'to', '') = '' OR coalesce(waiting_for ->> 'by', '') = ''
                OR waiting_for ->> 'at' IS NULL)",
    ),
    query(
        "assign",
        "first of two approvals without a person, or of a revision that never was",
        "approvals WHERE allowed_by IS NOT NULL",
        Subject::Approval,
        "SELECT id FROM approvals WHERE allowed_by IS NOT NULL
            AND (coalesce(allowed_by ->> 'person', '') = ''
                OR coalesce(allowed_by ->> 'revision', 0) NOT BETWEEN 1 AND revision)",
    ),
    query(
        "assign",
        "escalation whose steps are not in order",
        "approvals WHERE escalation IS NOT NULL",
        Subject::Approval,
        "SELECT id FROM approvals WHERE escalation IS NOT NULL
            AND EXISTS (SELECT 1 FROM json_each(escalation, '$.steps') s WHERE s.value ->> 'step' IS NOT s.key + 1)",
    ),
    query(
        "assign",
        "somebody on call without a name or a time",
        "meta WHERE key = 'on_call'",
        Subject::Text,
        "SELECT key FROM meta WHERE key = 'on_call'
            AND CASE WHEN json_valid(value) THEN coalesce(value ->> 'name', '') = '' OR value ->> 'since' IS NULL
                ELSE 1 END",
    ),
];
