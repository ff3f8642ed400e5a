//! The event log and the audit: I3, I19, I21.

use std::collections::{HashMap, HashSet};

use crate::protocol::event::EventBody;
use crate::protocol::ids::{ApprovalId, ContinuationId, ToolCallId};
use crate::protocol::words::ContinuationState;
use crate::store::check::rule::{Found, Rule, Subject, code, query};
use crate::store::error::StoreError;
use crate::store::reader::Reader;
use crate::store::rows::word;
use crate::store::schema;
use crate::store::transitions;

pub(crate) const RULES: &[Rule] = &[
    code(
        "I3",
        "continuation whose events are no legal path to its state",
        fold_events,
    ),
    query(
        "I19",
        "event outside of every epoch that has begun",
        "events",
        Subject::Text,
        "SELECT 'event ' || seq FROM events WHERE seq <= 4294967296 OR seq & 4294967295 = 0
            OR seq >> 32 > (SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'epoch')",
    ),
    query(
        "I19",
        "event that was said to be pruned",
        "events",
        Subject::Text,
        "SELECT 'event ' || seq FROM events
         WHERE seq <= (SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'events_pruned')",
    ),
    code("I21", "audit row that does not fit its chain", chain),
    code(
        "I21",
        "tool start that the audit does not name",
        starts_are_audited,
    ),
    code(
        "I21",
        "decision that the audit does not name",
        decisions_are_audited,
    ),
    code(
        "I21",
        "policy version that the audit does not count",
        policies_are_audited,
    ),
];

/// The events of each continuation are a legal path that ends in its stored state.
fn fold_events(reader: &Reader<'_>, found: &mut Found) -> Result<(), StoreError> {
    let pruned = schema::meta(reader.conn, "events_pruned")?.is_some();
    let mut states: HashMap<ContinuationId, ContinuationState> = HashMap::new();
    let mut statement = reader
        .conn
        .prepare("SELECT seq, continuation_id, body FROM events WHERE continuation_id IS NOT NULL ORDER BY seq")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        found.rows += 1;
        let seq: u64 = row.get(0)?;
        let id = ContinuationId::from_bytes(row.get(1)?);
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
            found.add(|| format!("{id} went from {before} to {next} at event {seq}"));
        }
    }
    let mut statement = reader.conn.prepare("SELECT id, state FROM continuations")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let id = ContinuationId::from_bytes(row.get(0)?);
        let stored: ContinuationState = word(row, 1)?;
        match states.get(&id) {
            Some(folded) if *folded != stored => {
                found.add(|| format!("{id} is {stored}, its events end in {folded}"));
            }
            None if !pruned => found.add(|| format!("{id} has no events")),
            Some(_) | None => {}
        }
    }
    Ok(())
}

fn chain(reader: &Reader<'_>, found: &mut Found) -> Result<(), StoreError> {
    match reader.verify_audit()? {
        Ok(rows) => found.rows = rows,
        Err(broken) => {
            found.rows = broken.seq;
            found.add(|| format!("row {}: {}", broken.seq, broken.reason));
        }
    }
    Ok(())
}

/// Before this time the audit is not kept whole: its oldest part was put aside.
fn kept_since(reader: &Reader<'_>) -> Result<i64, StoreError> {
    Ok(reader
        .audit_kept_since()?
        .map_or(i64::MIN, crate::clock::Timestamp::as_millis))
}

fn subjects(reader: &Reader<'_>, query: &str) -> Result<HashSet<String>, StoreError> {
    Ok(reader
        .conn
        .prepare(query)?
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?)
}

fn starts_are_audited(reader: &Reader<'_>, found: &mut Found) -> Result<(), StoreError> {
    let mut audited: HashMap<String, u64> = HashMap::new();
    let mut statement = reader.conn.prepare(
        "SELECT subject, count(*) FROM audit WHERE action = 'tool.started' GROUP BY subject",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        audited.insert(row.get(0)?, row.get(1)?);
    }
    let mut statement = reader.conn.prepare(
        "SELECT call_id, count(*) FROM tool_attempts WHERE started_at > ?1 GROUP BY call_id",
    )?;
    let mut rows = statement.query([kept_since(reader)?])?;
    while let Some(row) = rows.next()? {
        let id = ToolCallId::from_bytes(row.get(0)?).to_string();
        let starts: u64 = row.get(1)?;
        found.rows += starts;
        let named = audited.get(&id).copied().unwrap_or(0);
        if named < starts {
            found.add(|| format!("{id}: {starts} starts, {named} audit rows"));
        }
    }
    Ok(())
}

fn decisions_are_audited(reader: &Reader<'_>, found: &mut Found) -> Result<(), StoreError> {
    let audited = subjects(
        reader,
        "SELECT DISTINCT coalesce(json_extract(detail, '$.approval'), subject) FROM audit
         WHERE action IN ('approval.decided', 'delivery.resolved')",
    )?;
    let mut statement = reader
        .conn
        .prepare("SELECT id FROM approvals WHERE decision IS NOT NULL AND decided_at > ?1")?;
    let mut rows = statement.query([kept_since(reader)?])?;
    while let Some(row) = rows.next()? {
        found.rows += 1;
        let id = ApprovalId::from_bytes(row.get(0)?).to_string();
        if !audited.contains(&id) {
            found.add(|| id);
        }
    }
    Ok(())
}

fn policies_are_audited(reader: &Reader<'_>, found: &mut Found) -> Result<(), StoreError> {
    let since = kept_since(reader)?;
    let count = |query: &str| -> Result<u64, StoreError> {
        Ok(reader.conn.query_row(query, [since], |row| row.get(0))?)
    };
    let versions = count("SELECT count(*) FROM policy_versions WHERE at > ?1")?;
    let audited = count("SELECT count(*) FROM audit WHERE action = 'policy.changed' AND at > ?1")?;
    found.rows = versions;
    if audited < versions {
        found.add(|| format!("{versions} versions, {audited} audit rows"));
    }
    Ok(())
}
