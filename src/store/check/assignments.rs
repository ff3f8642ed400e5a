//! Questions that wait for somebody in particular, and who is on call. Not among the invariants of DESIGN.md by number:
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
        "somebody on call without a name or a time",
        "meta WHERE key = 'on_call'",
        Subject::Text,
        "SELECT key FROM meta WHERE key = 'on_call'
            AND CASE WHEN json_valid(value) THEN coalesce(value ->> 'name', '') = '' OR value ->> 'since' IS NULL
                ELSE 1 END",
    ),
];
