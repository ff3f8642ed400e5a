//! Messages, continuations and sessions: I1, I2, I4–I7, I23, I24, and what summaries cover.

use crate::store::check::rule::{Rule, Subject, query};

pub(crate) const RULES: &[Rule] = &[
    // The messages of a group, such as an album, are one turn, and each has its row.
    query("I1", "continuation without exactly one inbox row", "continuations", Subject::Continuation,
        "SELECT c.id FROM continuations c LEFT JOIN (
            SELECT continuation_id, count(*) AS n FROM inbox WHERE continuation_id IS NOT NULL GROUP BY continuation_id
         ) i ON i.continuation_id = c.id
         WHERE coalesce(i.n, 0) <> 1 AND (i.n IS NULL OR c.message_group IS NULL)"),
    query("I2", "idempotency key stored twice", "inbox WHERE key IS NOT NULL", Subject::Text,
        "SELECT channel || ' ' || principal || ' ' || key FROM inbox NOT INDEXED WHERE key IS NOT NULL
         GROUP BY channel, principal, key HAVING count(*) > 1"),
    query("I4", "step written after the end of its continuation", "steps", Subject::Continuation,
        "SELECT s.continuation_id, 'step ' || s.n AS note FROM steps s
         JOIN continuations c ON c.id = s.continuation_id
         WHERE c.state IN ('completed', 'failed') AND s.n > (SELECT max(n) FROM steps e
            WHERE e.continuation_id = c.id AND e.kind IN ('final', 'error'))"),
    query("I4", "call of an ended continuation that may still start", "tool_calls", Subject::Call,
        "SELECT t.id FROM tool_calls t JOIN continuations c ON c.id = t.continuation_id
         WHERE c.ended_at IS NOT NULL AND t.state IN ('proposed', 'ready', 'awaiting', 'approved')"),
    query("I5", "session with more than one running continuation", "continuations WHERE state = 'running'",
        Subject::Session,
        "SELECT session_id FROM continuations WHERE state = 'running' GROUP BY session_id HAVING count(*) > 1"),
    query("I6", "continuation of an epoch that has not begun", "continuations", Subject::Continuation,
        "SELECT id FROM continuations WHERE epoch > (SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'epoch')"),
    query("I6", "running continuation of an earlier epoch", "continuations WHERE state = 'running'",
        Subject::Continuation,
        "SELECT id FROM continuations WHERE state = 'running'
            AND epoch < (SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'epoch')"),
    query("I7", "tool attempt of an epoch that has not begun", "tool_attempts", Subject::Call,
        "SELECT call_id FROM tool_attempts
         WHERE epoch > (SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'epoch')"),
    query("I7", "model attempt of an epoch that has not begun", "model_attempts", Subject::ModelAttempt,
        "SELECT id FROM model_attempts
         WHERE epoch > (SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'epoch')"),
    query("I7", "send of an epoch that has not begun", "outbox", Subject::Outbox,
        "SELECT id FROM outbox WHERE epoch > (SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'epoch')"),
    query("I7", "compaction of an ended epoch that is still under way", "compactions WHERE state = 'running'",
        Subject::Session,
        "SELECT session_id FROM compactions WHERE state = 'running'
            AND epoch < (SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'epoch')"),
    query("I24", "turn that is not sent any more though no summary covers it",
        "continuations WHERE archived_at IS NOT NULL", Subject::Continuation,
        "SELECT c.id FROM continuations c LEFT JOIN summaries s ON s.session_id = c.session_id
         WHERE c.archived_at IS NOT NULL AND coalesce(s.covers_to, 0) < c.position"),
    query("I24", "turn that a summary covers though it is open, or still sent", "summaries", Subject::Continuation,
        "SELECT c.id FROM summaries s JOIN continuations c ON c.session_id = s.session_id AND c.position <= s.covers_to
         WHERE c.ended_at IS NULL OR (c.state = 'completed' AND c.archived_at IS NULL)"),
    query("I24", "summary without the compaction that wrote it", "summaries", Subject::Session,
        "SELECT session_id FROM summaries s WHERE NOT EXISTS (
            SELECT 1 FROM compactions k WHERE k.session_id = s.session_id AND k.state = 'done')"),
    query("I23", "model attempt of an ended epoch that was never settled", "model_attempts", Subject::ModelAttempt,
        "SELECT id FROM model_attempts WHERE settled_at IS NULL
            AND epoch < (SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'epoch')"),
    query("I23", "continuation that counts fewer tokens than its model calls used", "continuations",
        Subject::Continuation,
        "SELECT c.id FROM (
            SELECT continuation_id, sum(coalesce(input_tokens, 0)) AS i, sum(coalesce(output_tokens, 0)) AS o
            FROM model_attempts WHERE settled_at IS NOT NULL AND purpose = 'turn' GROUP BY continuation_id
         ) m JOIN continuations c ON c.id = m.continuation_id
         WHERE c.input_tokens < m.i OR c.output_tokens < m.o"),
    query("I23", "day whose spending is less than its model calls used", "model_attempts", Subject::Text,
        "SELECT m.channel || ' ' || m.model || ' day ' || m.day FROM (
            SELECT day, channel, model, count(*) AS calls, count(error) AS failed, sum(input_tokens) AS i,
                sum(output_tokens) AS o, total(cost_usd) AS usd
            FROM model_attempts WHERE settled_at IS NOT NULL GROUP BY day, channel, model
         ) m LEFT JOIN spend s ON s.day = m.day AND s.channel = m.channel AND s.model = m.model
         WHERE s.day IS NULL OR s.calls < m.calls OR s.failed < m.failed OR s.input_tokens < m.i
            OR s.output_tokens < m.o OR s.cost_usd < m.usd - 0.000001"),
    query("I23", "session that spent less than its turns", "sessions", Subject::Session,
        "SELECT s.id FROM sessions s JOIN (
            SELECT session_id, total(spent_usd) AS usd, sum(input_tokens + output_tokens) AS tokens FROM continuations
            GROUP BY session_id
         ) c ON c.session_id = s.id
         WHERE s.spent_usd < c.usd - 0.000001 OR s.input_tokens + s.output_tokens < c.tokens"),
    query("I23", "addition to a budget that no question about it was answered with", "budget_grants",
        Subject::Approval,
        "SELECT g.approval_id, g.budget AS note FROM budget_grants g JOIN approvals p ON p.id = g.approval_id
         WHERE p.kind <> 'budget' OR p.state <> 'consumed' OR p.budget IS NOT g.budget"),
    query("I23", "question about a shared budget that was answered yes and added nothing",
        "approvals WHERE kind = 'budget' AND state = 'consumed' AND budget <> 'cost'", Subject::Approval,
        "SELECT p.id FROM approvals p WHERE p.kind = 'budget' AND p.state = 'consumed' AND p.budget <> 'cost'
            AND NOT EXISTS (SELECT 1 FROM budget_grants g WHERE g.approval_id = p.id)"),
    query("I24", "open continuation of a session that has ended", "continuations WHERE ended_at IS NULL",
        Subject::Continuation,
        "SELECT c.id FROM continuations c JOIN sessions s ON s.id = c.session_id
         WHERE c.ended_at IS NULL AND s.state <> 'active'"),
    query("I24", "call whose approval is gone", "tool_calls WHERE approval_id IS NOT NULL", Subject::Call,
        "SELECT t.id FROM tool_calls t WHERE t.approval_id IS NOT NULL
            AND NOT EXISTS (SELECT 1 FROM approvals p WHERE p.id = t.approval_id)"),
    query("I24", "question about a delivery that is gone", "approvals WHERE outbox_id IS NOT NULL AND state = 'pending'",
        Subject::Approval,
        "SELECT p.id FROM approvals p WHERE p.outbox_id IS NOT NULL AND p.state = 'pending'
            AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.id = p.outbox_id)"),
];
