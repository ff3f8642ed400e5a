//! The event log and the audit: I3, I19, I21.

use std::collections::{HashMap, HashSet};

use crate::protocol::enums::ContinuationState;
use crate::protocol::event::EventBody;
use crate::protocol::ids::{ApprovalId, ContinuationId, ToolCallId};
use crate::store::check::rule::{Findings, Rule, Subject, code, query};
use crate::store::error::StoreError;
use crate::store::meta;
use crate::store::reader::Reader;
use crate::store::sql::Statements;
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
fn fold_events(reader: &Reader<'_>, found: &mut Findings) -> Result<(), StoreError> {
    let pruned = meta::get(reader.conn, "events_pruned")?.is_some();
    let mut states: HashMap<ContinuationId, ContinuationState> = HashMap::new();
    reader.conn.each(
        "SELECT seq, continuation_id, body FROM events WHERE continuation_id IS NOT NULL ORDER BY seq",
        [],
        |row| {
            found.rows += 1;
            let seq: u64 = row.get("seq")?;
            let id = row.get("continuation_id")?;
            let text = row.text("body")?;
            // Approval events change no continuation; their rows hold no body.
            if text.starts_with(r#"{"kind":"approval."#) {
                return Ok(());
            }
            let body: EventBody = serde_json::from_str(text)?;
            let next = match &body {
                // Neither moves a continuation: both are told of one that stays where it is.
                EventBody::ContinuationQueued { .. } | EventBody::ModelFinished { .. } => {
                    return Ok(());
                }
                other => match other.continuation_state() {
                    Some(next) => next,
                    None => return Ok(()),
                },
            };
            if let Some(before) = states.insert(id, next)
                && !transitions::continuation(before, next)
            {
                found.add(|| format!("{id} went from {before} to {next} at event {seq}"));
            }
            Ok(())
        },
    )?;
    reader
        .conn
        .each("SELECT id, state FROM continuations", [], |row| {
            let id = row.get("id")?;
            let stored: ContinuationState = row.get("state")?;
            match states.get(&id) {
                Some(folded) if *folded != stored => {
                    found.add(|| format!("{id} is {stored}, its events end in {folded}"));
                }
                None if !pruned => found.add(|| format!("{id} has no events")),
                Some(_) | None => {}
            }
            Ok(())
        })?;
    Ok(())
}

fn chain(reader: &Reader<'_>, found: &mut Findings) -> Result<(), StoreError> {
    match reader.verify_audit()? {
        Ok(rows) => found.rows = rows,
        Err(broken) => {
            found.rows = broken.seq;
            found.add(|| format!("row {}: {}", broken.seq, broken.reason));
        }
    }
    Ok(())
}

/// Before this time the audit is not kept whole: its oldest part was archived.
fn kept_since(reader: &Reader<'_>) -> Result<i64, StoreError> {
    Ok(reader
        .audit_kept_since()?
        .map_or(i64::MIN, crate::clock::Timestamp::as_millis))
}

fn subjects(reader: &Reader<'_>, query: &str) -> Result<HashSet<String>, StoreError> {
    Ok(reader.conn.values(query, [])?.into_iter().collect())
}

fn starts_are_audited(reader: &Reader<'_>, found: &mut Findings) -> Result<(), StoreError> {
    let mut audited: HashMap<String, u64> = HashMap::new();
    reader.conn.each(
        "SELECT subject, count(*) AS count FROM audit WHERE action = 'tool.started' GROUP BY subject",
        [],
        |row| {
            audited.insert(row.get("subject")?, row.get("count")?);
            Ok(())
        },
    )?;
    reader.conn.each(
        "SELECT call_id, count(*) AS starts FROM tool_attempts WHERE started_at > ?1 GROUP BY call_id",
        [kept_since(reader)?],
        |row| {
            let id = row.get::<ToolCallId>("call_id")?.to_string();
            let starts: u64 = row.get("starts")?;
            found.rows += starts;
            let named = audited.get(&id).copied().unwrap_or(0);
            if named < starts {
                found.add(|| format!("{id}: {starts} starts, {named} audit rows"));
            }
            Ok(())
        },
    )?;
    Ok(())
}

fn decisions_are_audited(reader: &Reader<'_>, found: &mut Findings) -> Result<(), StoreError> {
    let audited = subjects(
        reader,
        "SELECT DISTINCT coalesce(json_extract(detail, '$.approval'), subject) FROM audit
         WHERE action IN ('approval.decided', 'delivery.resolved')",
    )?;
    reader.conn.each(
        "SELECT id FROM approvals WHERE decision IS NOT NULL AND decided_at > ?1",
        [kept_since(reader)?],
        |row| {
            found.rows += 1;
            let id = row.get::<ApprovalId>("id")?.to_string();
            if !audited.contains(&id) {
                found.add(|| id);
            }
            Ok(())
        },
    )?;
    Ok(())
}

fn policies_are_audited(reader: &Reader<'_>, found: &mut Findings) -> Result<(), StoreError> {
    let since = kept_since(reader)?;
    let count = |query: &str| -> Result<u64, StoreError> { reader.conn.value(query, [since]) };
    let versions = count("SELECT count(*) FROM policy_versions WHERE at > ?1")?;
    let audited = count("SELECT count(*) FROM audit WHERE action = 'policy.changed' AND at > ?1")?;
    found.rows = versions;
    if audited < versions {
        found.add(|| format!("{versions} versions, {audited} audit rows"));
    }
    Ok(())
}
