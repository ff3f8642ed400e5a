//! Routines and their runs. Not among the invariants of DESIGN.md by number: they are named `routine`.

use crate::store::check::rule::{Rule, Subject, query};

pub(crate) const RULES: &[Rule] = &[
    query("routine", "routine that is due though it does not run by itself, or begins before it is due",
        "routines", Subject::Text,
        "SELECT 'routine ' || name FROM routines WHERE (due_at IS NULL) <> (begin_at IS NULL) OR begin_at < due_at
            OR (enabled = 0 AND due_at IS NOT NULL)"),
    query("routine", "turn that two runs claim, or that is not bounded as one of a routine", "routine_runs",
        Subject::Continuation,
        "SELECT c.id FROM routine_runs u JOIN continuations c ON c.id = u.continuation_id
         GROUP BY c.id HAVING count(*) > 1 OR c.unattended IS NULL OR c.autonomy_ceiling IS NULL
            OR c.surface <> 'engine'"),
    query("routine", "question about a call of a turn that nobody attends to",
        "approvals WHERE state = 'pending' AND kind IN ('execute', 'question', 'memory', 'budget')", Subject::Approval,
        "SELECT p.id FROM approvals p JOIN continuations c ON c.id = p.continuation_id
         WHERE p.kind IN ('execute', 'question', 'memory', 'budget') AND c.unattended = 'deny'"),
];
