//! Tool calls, their starts and what allowed them: I8–I14, I31.

use crate::store::check::rule::{Rule, Subject, code, query};
use crate::store::check::starts::starts_were_allowed;

pub(crate) const RULES: &[Rule] = &[
    query("I8", "started call without an attempt row that carries its key", "tool_calls WHERE attempts > 0",
        Subject::Call,
        "SELECT t.id FROM tool_calls t WHERE t.attempts > 0 AND (SELECT count(*) FROM tool_attempts a
            WHERE a.call_id = t.id AND a.idempotency_key = t.idempotency_key) <> t.attempts"),
    query("I8", "outcome of a run without a start", "tool_calls", Subject::Call,
        "SELECT id FROM tool_calls
         WHERE attempts = 0 AND state IN ('started', 'indeterminate', 'succeeded_by_note', 'abandoned')"),
    query("I8", "start of a call that a hook had stopped when it was proposed", "tool_calls",
        Subject::Call,
        "SELECT t.id FROM tool_calls t, json_each(t.hooks) n
         WHERE t.attempts > 0 AND json_extract(n.value, '$.verdict') IN ('cancel', 'failed')
            AND NOT json_extract(n.value, '$.at_start') AND NOT json_extract(n.value, '$.dry_run')"),
    query("I9", "non-idempotent call started again without a person's word", "tool_calls", Subject::Call,
        // What can be looked up is run again when the other side says that it did not happen. A call that a person edited
        // after a harmless start has that person's approval.
        "SELECT t.id FROM tool_calls t LEFT JOIN (
            SELECT tool_call_id, count(*) AS n, sum(json_extract(decision_body, '$.surface') <> 'engine') AS persons
            FROM approvals WHERE kind = 'resolve_unknown' AND decision = 'run_again' GROUP BY tool_call_id
         ) p ON p.tool_call_id = t.id LEFT JOIN (
            SELECT a.call_id, count(*) AS n FROM tool_attempts a JOIN approvals e ON e.id = a.approval_id
            WHERE a.attempt > 1 AND e.kind = 'execute' AND json_extract(e.decision_body, '$.surface') <> 'engine'
            GROUP BY a.call_id
         ) later ON later.call_id = t.id
         WHERE t.attempts > 1 + CASE t.effect
            WHEN 'non_idempotent' THEN max(coalesce(p.persons, 0), coalesce(later.n, 0))
            WHEN 'reconcilable' THEN coalesce(p.n, 0) ELSE t.attempts END"),
    query("I10", "attempt with another key than its call", "tool_attempts", Subject::Call,
        "SELECT a.call_id FROM tool_attempts a JOIN tool_calls t ON t.id = a.call_id
         WHERE a.idempotency_key <> t.idempotency_key"),
    query("I11", "start whose approval was not consumed, was another call's or came too late",
        "tool_attempts WHERE approval_id IS NOT NULL", Subject::Call,
        "SELECT a.call_id FROM tool_attempts a LEFT JOIN approvals p ON p.id = a.approval_id
         WHERE a.approval_id IS NOT NULL AND (p.id IS NULL OR p.state <> 'consumed' OR p.tool_call_id <> a.call_id
            OR p.decided_at IS NULL OR (p.expires_at IS NOT NULL AND p.decided_at >= p.expires_at))"),
    query("I11", "approval used by more than one start", "tool_attempts WHERE approval_id IS NOT NULL",
        Subject::Approval,
        "SELECT approval_id FROM tool_attempts WHERE approval_id IS NOT NULL GROUP BY approval_id HAVING count(*) > 1"),
    code("I11", "call that had to ask and started without an approval", starts_were_allowed),
    query("I11", "approval whose digest is not its call's", "approvals WHERE kind IN ('execute', 'question', 'memory')", Subject::Approval,
        "SELECT p.id FROM tool_calls t JOIN approvals p ON p.id = t.approval_id
         WHERE p.kind IN ('execute', 'question', 'memory') AND p.state IN ('pending', 'approved', 'consumed') AND p.digest <> t.digest"),
    query("I12", "call that waits without a pending approval", "tool_calls WHERE state = 'awaiting'", Subject::Call,
        "SELECT t.id FROM tool_calls t LEFT JOIN approvals p ON p.id = t.approval_id
         WHERE t.state = 'awaiting' AND coalesce(p.state, '') <> 'pending'"),
    query("I12", "unknown outcome of an open continuation that nobody is asked about",
        "tool_calls WHERE state = 'indeterminate'", Subject::Call,
        "SELECT t.id FROM tool_calls t JOIN continuations c ON c.id = t.continuation_id
            LEFT JOIN approvals p ON p.id = t.approval_id AND p.kind = 'resolve_unknown'
         WHERE t.state = 'indeterminate' AND c.ended_at IS NULL AND coalesce(p.state, '') <> 'pending'"),
    query("I13", "awaiting_approval without a pending gate", "continuations WHERE state = 'awaiting_approval'",
        Subject::Continuation,
        "SELECT c.id FROM continuations c WHERE c.state = 'awaiting_approval' AND NOT EXISTS (
            SELECT 1 FROM approvals p WHERE p.continuation_id = c.id AND +p.state = 'pending' AND p.kind <> 'resend')"),
    query("I13", "waiting continuation with a started call",
        "continuations WHERE state IN ('awaiting_approval', 'pending')", Subject::Continuation,
        "SELECT c.id FROM continuations c WHERE c.state IN ('awaiting_approval', 'pending') AND EXISTS (
            SELECT 1 FROM tool_calls t WHERE t.continuation_id = c.id AND t.state = 'started')"),
    query("I13", "ended continuation with a pending gate", "approvals WHERE state IN ('pending', 'approved')",
        Subject::Continuation,
        "SELECT c.id FROM approvals p JOIN continuations c ON c.id = p.continuation_id
         WHERE p.state IN ('pending', 'approved') AND p.kind <> 'resend' AND c.ended_at IS NOT NULL"),
    query("I14", "call with more or less than the one result its state asks for", "tool_calls", Subject::Call,
        "SELECT t.id FROM tool_calls t JOIN continuations c ON c.id = t.continuation_id
         WHERE (SELECT count(*) FROM steps s WHERE s.continuation_id = t.continuation_id AND s.kind = 'tool_result'
                AND json_extract(s.body, '$.provider_call_id') = t.provider_call_id
                AND json_extract(s.body, '$.name') = t.name AND s.n = t.result_step)
            <> CASE WHEN t.state IN ('blocked', 'denied', 'succeeded', 'failed', 'succeeded_by_note', 'abandoned')
                AND (c.ended_at IS NULL OR t.result_step IS NOT NULL) THEN 1 ELSE 0 END"),
    query("I14", "model call after a step whose calls have no results", "steps WHERE kind IN ('model', 'final')",
        Subject::Continuation,
        "SELECT s.continuation_id, 'step ' || s.n AS note FROM steps s
         JOIN tool_calls t ON t.continuation_id = s.continuation_id
         WHERE s.kind IN ('model', 'final') AND t.step < s.n AND (t.result_step IS NULL OR t.result_step > s.n)"),
    query("I31", "approval that was given without a person's decision",
        "approvals WHERE state IN ('approved', 'consumed')", Subject::Approval,
        // The engine answers only what it could look up: how a call or a send ended.
        "SELECT id FROM approvals WHERE state IN ('approved', 'consumed')
            AND (decision IS NULL OR decided_at IS NULL
                OR (json_extract(decision_body, '$.surface') = 'engine' AND kind NOT IN ('resolve_unknown', 'resend')))"),
];
