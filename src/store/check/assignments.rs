//! Questions that wait for somebody in particular, who allowed them first, how they escalate, and who is on call. Not among the invariants of DESIGN.md by number:
//! they are named `assign`.

use crate::store::check::rule::{Rule, Subject, query};

pub(crate) const RULES: &[Rule] = &[
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
