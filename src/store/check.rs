//! The invariants of DESIGN.md that the database alone can show. Reads everything; not for the hot path.
//!
//! What needs a ledger outside (what a platform showed, what a tool did) is checked by the crash tests.

use std::collections::HashMap;

use crate::protocol::event::EventBody;
use crate::protocol::ids::ContinuationId;
use crate::protocol::words::ContinuationState;
use crate::store::check_starts::starts_were_allowed;
use crate::store::error::StoreError;
use crate::store::event_log::epoch_base;
use crate::store::reader::Reader;
use crate::store::rows::word;
use crate::store::schema;
use crate::store::transitions;

/// A broken invariant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Its name in DESIGN.md: `I4`.
    pub invariant: &'static str,
    /// What is wrong, with ids (hex of the stored bytes).
    pub detail: String,
}

/// (invariant, what a row of the answer means, query answering the offending rows as text).
const RULES: &[(&str, &str, &str)] = &[
    ("I1", "continuation without exactly one inbox row",
     "SELECT hex(c.id) FROM continuations c
      WHERE (SELECT count(*) FROM inbox i WHERE i.continuation_id = c.id) <> 1"),
    ("I2", "idempotency key stored twice",
     "SELECT channel || ' ' || principal || ' ' || key FROM inbox WHERE key IS NOT NULL
      GROUP BY channel, principal, key HAVING count(*) > 1"),
    ("I4", "step written after the end of its continuation",
     "SELECT hex(s.continuation_id) || ' step ' || s.n FROM steps s JOIN continuations c ON c.id = s.continuation_id
      WHERE c.state IN ('completed', 'failed') AND s.n > (SELECT max(n) FROM steps e
        WHERE e.continuation_id = c.id AND e.kind IN ('final', 'error'))"),
    ("I4", "call of an ended continuation that may still start",
     "SELECT hex(t.id) FROM tool_calls t JOIN continuations c ON c.id = t.continuation_id
      WHERE c.ended_at IS NOT NULL AND t.state IN ('proposed', 'ready', 'awaiting', 'approved')"),
    ("I5", "session with more than one running continuation",
     "SELECT hex(session_id) FROM continuations WHERE state = 'running' GROUP BY session_id HAVING count(*) > 1"),
    ("I6", "row of an epoch that has not begun",
     "SELECT hex(id) FROM continuations WHERE epoch > (SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'epoch')"),
    ("I6", "running continuation of an earlier epoch",
     "SELECT hex(id) FROM continuations WHERE state = 'running'
        AND epoch <> (SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'epoch')"),
    ("I8", "started call without an attempt row that carries its key",
     "SELECT hex(t.id) FROM tool_calls t WHERE t.attempts > 0 AND (SELECT count(*) FROM tool_attempts a
        WHERE a.call_id = t.id AND a.idempotency_key = t.idempotency_key) <> t.attempts"),
    ("I8", "outcome of a run without a start",
     "SELECT hex(id) FROM tool_calls WHERE attempts = 0 AND state IN ('started', 'indeterminate', 'succeeded_by_note', 'abandoned')"),
    ("I9", "non-idempotent call started again without a person's word",
     "SELECT hex(t.id) FROM tool_calls t WHERE t.effect IN ('non_idempotent', 'reconcilable')
        AND t.attempts > 1 + (SELECT count(*) FROM approvals a WHERE a.tool_call_id = t.id
            AND a.kind = 'resolve_unknown' AND a.decision = 'run_again')"),
    ("I10", "attempt with another key than its call",
     "SELECT hex(a.call_id) FROM tool_attempts a JOIN tool_calls t ON t.id = a.call_id
      WHERE a.idempotency_key <> t.idempotency_key"),
    ("I11", "start whose approval was not consumed",
     "SELECT hex(a.call_id) FROM tool_attempts a JOIN approvals p ON p.id = a.approval_id
      WHERE p.state <> 'consumed' OR p.tool_call_id <> a.call_id OR p.decided_at IS NULL
        OR (p.expires_at IS NOT NULL AND p.decided_at >= p.expires_at)"),
    ("I11", "approval used by more than one start",
     "SELECT hex(approval_id) FROM tool_attempts WHERE approval_id IS NOT NULL GROUP BY approval_id HAVING count(*) > 1"),
    ("I11", "approval whose digest is not its call's",
     "SELECT hex(p.id) FROM approvals p JOIN tool_calls t ON t.approval_id = p.id
      WHERE p.kind = 'execute' AND p.state IN ('pending', 'approved', 'consumed') AND p.digest <> t.digest"),
    ("I12", "call that waits without a pending approval",
     "SELECT hex(t.id) FROM tool_calls t LEFT JOIN approvals p ON p.id = t.approval_id
      WHERE t.state = 'awaiting' AND coalesce(p.state, '') <> 'pending'"),
    ("I12", "unknown outcome of an open continuation that nobody is asked about",
     "SELECT hex(t.id) FROM tool_calls t JOIN continuations c ON c.id = t.continuation_id
        LEFT JOIN approvals p ON p.id = t.approval_id AND p.kind = 'resolve_unknown'
      WHERE t.state = 'indeterminate' AND c.ended_at IS NULL AND coalesce(p.state, '') <> 'pending'"),
    ("I13", "awaiting_approval without a pending gate",
     "SELECT hex(c.id) FROM continuations c WHERE c.state = 'awaiting_approval' AND NOT EXISTS (
        SELECT 1 FROM approvals p WHERE p.continuation_id = c.id AND p.state = 'pending' AND p.kind <> 'resend')"),
    ("I13", "awaiting_approval with a started call",
     "SELECT hex(c.id) FROM continuations c WHERE c.state IN ('awaiting_approval', 'pending') AND EXISTS (
        SELECT 1 FROM tool_calls t WHERE t.continuation_id = c.id AND t.state = 'started')"),
    ("I13", "ended continuation with a pending gate",
     "SELECT hex(c.id) FROM continuations c WHERE c.ended_at IS NOT NULL AND EXISTS (
        SELECT 1 FROM approvals p WHERE p.continuation_id = c.id AND p.state IN ('pending', 'approved') AND p.kind <> 'resend')"),
    ("I14", "call with more or less than the one result its state asks for",
     "SELECT hex(t.id) FROM tool_calls t JOIN continuations c ON c.id = t.continuation_id
      WHERE (SELECT count(*) FROM steps s WHERE s.continuation_id = t.continuation_id AND s.kind = 'tool_result'
            AND json_extract(s.body, '$.provider_call_id') = t.provider_call_id
            AND json_extract(s.body, '$.name') = t.name AND s.n = t.result_step)
        <> CASE WHEN t.state IN ('blocked', 'denied', 'succeeded', 'failed', 'succeeded_by_note', 'abandoned')
            AND (c.ended_at IS NULL OR t.result_step IS NOT NULL) THEN 1 ELSE 0 END"),
    ("I14", "model call after a step whose calls have no results",
     "SELECT hex(s.continuation_id) || ' step ' || s.n FROM steps s JOIN tool_calls t ON t.continuation_id = s.continuation_id
      WHERE s.kind IN ('model', 'final') AND t.step < s.n AND (t.result_step IS NULL OR t.result_step > s.n)"),
    ("I15", "completed without a final step, or a final step without completion",
     "SELECT hex(c.id) FROM continuations c WHERE (c.state = 'completed') <> (
        (SELECT count(*) FROM steps s WHERE s.continuation_id = c.id AND s.kind = 'final') = 1)"),
    ("I15", "reply with missing parts",
     "SELECT hex(continuation_id) FROM outbox WHERE class = 'final' GROUP BY continuation_id
      HAVING count(*) <> max(parts) OR count(DISTINCT part) <> count(*)"),
    ("I15", "reply of a continuation that did not complete",
     "SELECT hex(o.id) FROM outbox o LEFT JOIN continuations c ON c.id = o.continuation_id
      WHERE o.class = 'final' AND coalesce(c.state, '') <> 'completed'"),
    ("I16", "card of a settled approval that is still to be sent",
     "SELECT hex(o.id) FROM outbox o JOIN approvals p ON p.id = o.approval_id
      WHERE o.class = 'approval_card' AND o.state = 'pending' AND o.attempts = 0 AND p.state <> 'pending'"),
    ("I16", "part being sent by an earlier epoch",
     "SELECT hex(id) FROM outbox WHERE state = 'sending'
        AND epoch <> (SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'epoch')"),
    ("I18", "part sent before an earlier one of its reply",
     "SELECT hex(b.id) FROM outbox a JOIN outbox b ON b.continuation_id = a.continuation_id AND b.class = 'final'
        AND b.conversation = a.conversation AND b.part > a.part
      WHERE a.class = 'final' AND a.state IN ('pending', 'sending') AND a.attempts <= 1 AND a.epoch = b.epoch
        AND b.attempts > 0 AND a.attempts < 1"),
    ("I23", "attempt of an ended epoch that was never settled",
     "SELECT hex(id) FROM model_attempts WHERE settled_at IS NULL
        AND epoch <> (SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'epoch')"),
];

/// Every violation found; empty = sound.
pub fn check(reader: &Reader<'_>) -> Result<Vec<Violation>, StoreError> {
    let mut found = Vec::new();
    for (invariant, meaning, query) in RULES {
        let mut statement = reader.conn.prepare(query)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let id: Option<String> = row.get(0)?;
            found.push(Violation {
                invariant,
                detail: format!("{meaning}: {}", id.unwrap_or_default()),
            });
        }
    }
    fold_events(reader, &mut found)?;
    if let Err(broken) = reader.verify_audit()? {
        found.push(Violation {
            invariant: "I21",
            detail: format!("audit row {}: {}", broken.seq, broken.reason),
        });
    }
    decisions_are_audited(reader, &mut found)?;
    starts_were_allowed(reader, &mut found)?;
    Ok(found)
}

/// I3: the events of each continuation are a legal path that ends in its stored state. I19: no event lies
/// beyond the current epoch.
fn fold_events(reader: &Reader<'_>, found: &mut Vec<Violation>) -> Result<(), StoreError> {
    let epoch: u64 = schema::meta(reader.conn, "epoch")?
        .and_then(|text| text.parse().ok())
        .unwrap_or(0);
    let pruned = schema::meta(reader.conn, "events_pruned")?.is_some();
    let mut states: HashMap<ContinuationId, ContinuationState> = HashMap::new();
    let mut statement = reader
        .conn
        .prepare("SELECT seq, continuation_id, body FROM events ORDER BY seq")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let seq: u64 = row.get(0)?;
        if seq >= epoch_base(epoch + 1) {
            found.push(Violation {
                invariant: "I19",
                detail: format!("event {seq} lies beyond epoch {epoch}"),
            });
        }
        let Some(id) = row
            .get::<_, Option<[u8; 16]>>(1)?
            .map(ContinuationId::from_bytes)
        else {
            continue;
        };
        let text = row.get_ref(2)?.as_str().map_err(rusqlite::Error::from)?;
        // Approval events change no continuation; their rows hold no body.
        if text.starts_with(r#"{"kind":"approval."#) {
            continue;
        }
        let body: EventBody = serde_json::from_str(text)?;
        let next = match &body {
            // Neither moves a continuation: both are told of one that stays where it is.
            EventBody::ContinuationQueued { .. } | EventBody::ModelFinished { .. } => continue,
            other => match other.continuation_state() {
                Some(next) => next,
                None => continue,
            },
        };
        if let Some(before) = states.insert(id, next)
            && !transitions::continuation(before, next)
        {
            found.push(Violation {
                invariant: "I3",
                detail: format!("{id} went from {before} to {next} at event {seq}"),
            });
        }
    }
    let mut statement = reader.conn.prepare("SELECT id, state FROM continuations")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let id = ContinuationId::from_bytes(row.get(0)?);
        let stored: ContinuationState = word(row, 1)?;
        match states.get(&id) {
            Some(folded) if *folded != stored => found.push(Violation {
                invariant: "I3",
                detail: format!("{id} is {stored}, its events end in {folded}"),
            }),
            None if !pruned => found.push(Violation {
                invariant: "I3",
                detail: format!("{id} has no events"),
            }),
            Some(_) | None => {}
        }
    }
    Ok(())
}

/// I21: every decision, policy version and tool start has its audit row.
fn decisions_are_audited(
    reader: &Reader<'_>,
    found: &mut Vec<Violation>,
) -> Result<(), StoreError> {
    for (what, wanted, audited) in [
        (
            "tool starts",
            "SELECT count(*) FROM tool_attempts",
            "SELECT count(*) FROM audit WHERE action = 'tool.started'",
        ),
        (
            "policy versions",
            "SELECT count(*) FROM policy_versions",
            "SELECT count(*) FROM audit WHERE action = 'policy.changed'",
        ),
        (
            "decisions",
            "SELECT count(*) FROM approvals WHERE decision IS NOT NULL",
            "SELECT count(DISTINCT coalesce(json_extract(detail, '$.approval'), subject)) FROM audit
             WHERE action = 'approval.decided' OR (action = 'delivery.resolved' AND json_extract(detail, '$.approval') IS NOT NULL)",
        ),
    ] {
        let wanted: u64 = reader.conn.query_row(wanted, [], |row| row.get(0))?;
        let audited: u64 = reader.conn.query_row(audited, [], |row| row.get(0))?;
        if audited < wanted {
            found.push(Violation {
                invariant: "I21",
                detail: format!("{wanted} {what}, {audited} audit rows"),
            });
        }
    }
    Ok(())
}
