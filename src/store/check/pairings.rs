//! People with access by pairing. Not among the invariants of DESIGN.md by number: they are named `pairing`.

use crate::store::check::rule::{Rule, Subject, query};

pub(crate) const RULES: &[Rule] = &[
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
];
