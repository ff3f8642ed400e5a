//! Answers on their way out: I15, I16, I18.

use crate::store::check::rule::{Rule, Subject, query};

pub(crate) const RULES: &[Rule] = &[
    query("I15", "completed without a final step, or a final step without completion", "continuations",
        Subject::Continuation,
        "SELECT c.id FROM continuations c WHERE (c.state = 'completed') <> (
            (SELECT count(*) FROM steps s WHERE s.continuation_id = c.id AND s.kind = 'final') = 1)"),
    query("I15", "reply with missing parts", "outbox WHERE class = 'final'", Subject::Continuation,
        "SELECT continuation_id FROM outbox WHERE class = 'final' AND continuation_id IS NOT NULL
         GROUP BY continuation_id HAVING count(*) <> max(parts) OR count(DISTINCT part) <> count(*)"),
    query("I15", "reply of a continuation that did not complete", "outbox WHERE class = 'final'", Subject::Outbox,
        "SELECT o.id FROM outbox o LEFT JOIN continuations c ON c.id = o.continuation_id
         WHERE o.class = 'final' AND coalesce(c.state, '') <> 'completed'"),
    query("I16", "card of a settled approval that is still to be sent", "outbox WHERE class = 'approval_card'",
        Subject::Outbox,
        "SELECT o.id FROM outbox o JOIN approvals p ON p.id = o.approval_id
         WHERE o.class = 'approval_card' AND o.state = 'pending' AND o.attempts = 0 AND p.state <> 'pending'"),
    query("I16", "part being sent by an earlier epoch", "outbox WHERE state = 'sending'", Subject::Outbox,
        "SELECT id FROM outbox WHERE state = 'sending'
            AND epoch < (SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'epoch')"),
    query("I16", "delivery of unknown outcome that nobody is asked about", "outbox WHERE state = 'unknown'",
        Subject::Outbox,
        "SELECT o.id FROM outbox o WHERE o.state = 'unknown' AND NOT EXISTS (
            SELECT 1 FROM approvals p WHERE p.outbox_id = o.id AND +p.state = 'pending' AND p.kind = 'resend')"),
    query("I18", "part begun before an earlier one of its reply was tried", "outbox WHERE class = 'final'",
        Subject::Outbox,
        "SELECT b.id FROM outbox a JOIN outbox b ON b.continuation_id = a.continuation_id AND b.class = 'final'
            AND b.conversation = a.conversation AND b.part > a.part
         WHERE a.class = 'final' AND a.settled_at IS NULL AND b.attempts > 0
            AND ((+a.state = 'pending' AND a.attempts = 0) OR (+a.state = 'sending' AND b.state = 'sending'))"),
    query("I18", "part queued before an earlier one of its reply", "outbox WHERE class = 'final'", Subject::Outbox,
        // No join of the table with itself: SQLite takes the class for a good index and compares all with all.
        "SELECT id FROM (
            SELECT id, position, lag(position) OVER (PARTITION BY continuation_id ORDER BY part) AS earlier
            FROM outbox WHERE class = 'final' AND continuation_id IS NOT NULL)
         WHERE position < earlier"),
];
