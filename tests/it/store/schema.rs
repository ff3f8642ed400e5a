//! The schema agrees with the vocabularies, the transitions with the design, the hot queries with their indexes.

use std::collections::BTreeSet;

use leverframe::protocol::enums::{
    Access, ApprovalKind, ApprovalState, Autonomy, ChannelKind, CompactionState, ContinuationState,
    DecisionKind, Disposition, Effect, HygieneState, MemoryAuthor, MemoryKind, MemoryScope,
    MemoryState, MissedRuns, OutboxClass, OutboxState, PairingState, Risk, RoutineRunState,
    RuleMatcher, RuleScope, SessionState, SkillKind, StepKind, Surface, ToolCallState, Unattended,
    VerdictKind,
};
use leverframe::store::transitions;

use crate::support::world::World;

const SQL: &str = include_str!("../../../src/store/migrations/001_initial.sql");
const SKILLS_SQL: &str = include_str!("../../../src/store/migrations/025_skills.sql");
const LIFETIMES_SQL: &str = include_str!("../../../src/store/migrations/024_lifetimes.sql");
const CHANNELS_SQL: &str = include_str!("../../../src/store/migrations/006_channels.sql");
const PAIRINGS_SQL: &str = include_str!("../../../src/store/migrations/007_pairings.sql");
const MEMORY_SQL: &str = include_str!("../../../src/store/migrations/004_memory.sql");

fn words_of<T: Copy + ToString>(all: &[T]) -> BTreeSet<String> {
    all.iter().map(ToString::to_string).collect()
}

/// The surfaces before schema version 29, which adds one to each list.
fn first_surfaces() -> BTreeSet<String> {
    let mut surfaces = words_of(Surface::ALL);
    for later in ["mcp", "gate"] {
        assert!(surfaces.remove(later), "{later}");
    }
    surfaces
}

#[tokio::test]
async fn checks_that_grew_list_every_word_in_a_database() {
    let world = World::new().await;
    let conn = rusqlite::Connection::open(world.dir.join("leverframe.db")).unwrap();
    let tables: Vec<(String, String)> = conn
        .prepare("SELECT name, sql FROM sqlite_schema WHERE sql LIKE '%CHECK (surface IN%'")
        .unwrap()
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(tables.len(), 4);
    for (name, sql) in tables {
        assert_eq!(listed(&sql, "surface"), words_of(Surface::ALL), "{name}");
    }
    let kinds: String = conn
        .query_row(
            "SELECT sql FROM sqlite_schema WHERE name = 'channel_accounts'",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(listed(&kinds, "kind"), words_of(ChannelKind::ALL));
    let sound: String = conn
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(sound, "ok");
}

/// The kinds of channels before schema version 30, which adds five, and 31, which adds one.
fn first_kinds() -> BTreeSet<String> {
    let mut kinds = words_of(ChannelKind::ALL);
    for later in ["discord", "slack", "matrix", "webhook", "process", "gate"] {
        assert!(kinds.remove(later), "{later}");
    }
    kinds
}

#[test]
fn every_check_lists_exactly_the_words_of_its_vocabulary() {
    let mut stored = words_of(ContinuationState::ALL);
    stored.remove("streaming");
    let expected = [
        ("channel_accounts", "kind", first_kinds()),
        ("policies", "autonomy", words_of(Autonomy::ALL)),
        ("policies", "reverts_to", words_of(Autonomy::ALL)),
        ("policy_versions", "surface", first_surfaces()),
        ("sessions", "state", words_of(SessionState::ALL)),
        ("continuations", "state", stored),
        ("continuations", "surface", first_surfaces()),
        ("inbox", "disposition", words_of(Disposition::ALL)),
        ("steps", "kind", words_of(StepKind::ALL)),
        ("tool_calls", "access", words_of(Access::ALL)),
        ("tool_calls", "effect", words_of(Effect::ALL)),
        ("tool_calls", "risk", words_of(Risk::ALL)),
        ("tool_calls", "verdict", words_of(VerdictKind::ALL)),
        ("tool_calls", "state", words_of(ToolCallState::ALL)),
        ("tool_attempts", "outcome", words_of(ToolCallState::ALL)),
        ("approvals", "kind", words_of(ApprovalKind::ALL)),
        ("approvals", "state", words_of(ApprovalState::ALL)),
        ("approvals", "decision", words_of(DecisionKind::ALL)),
        ("outbox", "class", words_of(OutboxClass::ALL)),
        ("outbox", "state", words_of(OutboxState::ALL)),
        ("card_tokens", "decision", words_of(DecisionKind::ALL)),
        ("audit", "surface", first_surfaces()),
    ];
    let checked = compare(SQL, &expected);
    // A column added later is added here too (paused, temporary, notified and budget_kind are no vocabulary).
    let all = SQL.matches(" IN ('").count();
    assert_eq!(
        all,
        checked + 3,
        "a CHECK is not compared with its vocabulary"
    );
}

#[test]
fn every_check_of_schema_4_lists_exactly_the_words_of_its_vocabulary() {
    let expected = [
        ("memories", "scope", words_of(MemoryScope::ALL)),
        ("memories", "kind", words_of(MemoryKind::ALL)),
        ("memories", "author", words_of(MemoryAuthor::ALL)),
        ("memories", "state", words_of(MemoryState::ALL)),
        ("memories", "archived_from", words_of(MemoryState::ALL)),
        ("compactions", "state", words_of(CompactionState::ALL)),
        ("hygiene_runs", "state", words_of(HygieneState::ALL)),
        ("routines", "autonomy_ceiling", words_of(Autonomy::ALL)),
        ("routines", "missed", words_of(MissedRuns::ALL)),
        ("routine_runs", "state", words_of(RoutineRunState::ALL)),
    ];
    let checked = compare(MEMORY_SQL, &expected);
    let added = [
        ("unattended", words_of(Unattended::ALL)),
        ("autonomy_ceiling", words_of(Autonomy::ALL)),
    ];
    for (column, words) in &added {
        let list = MEMORY_SQL.split(&format!("COLUMN {column} ")).nth(1);
        assert_eq!(&listed(list.unwrap(), column), words, "{column}");
    }
    // The purpose of a model call is the store's own.
    assert_eq!(
        MEMORY_SQL.matches(" IN ('").count(),
        checked + added.len() + 1,
        "a CHECK is not compared with its vocabulary"
    );
}

/// The table of rules was made anew with this version.
#[test]
fn every_check_of_schema_24_lists_exactly_the_words_of_its_vocabulary() {
    let expected = [
        ("rules_of_24", "matcher", words_of(RuleMatcher::ALL)),
        ("rules_of_24", "scope", words_of(RuleScope::ALL)),
        ("rules_of_24", "verdict", words_of(VerdictKind::ALL)),
    ];
    let checked = compare(LIFETIMES_SQL, &expected);
    // Which scopes name a session is the store's own.
    assert_eq!(
        LIFETIMES_SQL.matches(" IN ('").count(),
        checked + 1,
        "a CHECK is not compared with its vocabulary"
    );
}

#[test]
fn every_check_of_schema_6_lists_exactly_the_words_of_its_vocabulary() {
    let expected = [("take_overs", "surface", first_surfaces())];
    let checked = compare(CHANNELS_SQL, &expected);
    assert_eq!(
        CHANNELS_SQL.matches(" IN ('").count(),
        checked,
        "a CHECK is not compared with its vocabulary"
    );
}

#[test]
fn every_check_of_schema_7_lists_exactly_the_words_of_its_vocabulary() {
    let expected = [("pairings", "state", words_of(PairingState::ALL))];
    let checked = compare(PAIRINGS_SQL, &expected);
    assert_eq!(
        PAIRINGS_SQL.matches(" IN ('").count(),
        checked,
        "a CHECK is not compared with its vocabulary"
    );
}

/// The words that the first CHECK of a column lists.
fn listed(sql: &str, column: &str) -> BTreeSet<String> {
    let list = sql
        .split(&format!("CHECK ({column} IN ("))
        .nth(1)
        .unwrap_or_else(|| panic!("{column} has no CHECK"))
        .split(')')
        .next()
        .unwrap();
    list.split(',')
        .map(|word| word.trim().trim_matches('\'').to_owned())
        .collect()
}

/// Compares the CHECKs of columns with vocabularies; how many.
fn compare(sql: &str, expected: &[(&str, &str, BTreeSet<String>)]) -> usize {
    for (table, column, words) in expected {
        let body = sql
            .split(&format!("CREATE TABLE {table} ("))
            .nth(1)
            .and_then(|rest| rest.split(") STRICT").next())
            .unwrap();
        assert_eq!(&listed(body, column), words, "{table}.{column}");
    }
    expected.len()
}

#[test]
fn transitions_are_those_of_the_design() {
    // DESIGN.md § Store, plus what transitions.rs documents.
    let continuation: &[(&str, &[&str])] = &[
        ("pending", &["running", "cancelled", "expired"]),
        (
            "running",
            &[
                "awaiting_approval",
                "pending",
                "interrupted",
                "completed",
                "failed",
                "cancelled",
            ],
        ),
        (
            "awaiting_approval",
            &["pending", "failed", "cancelled", "expired"],
        ),
        (
            "interrupted",
            &["pending", "awaiting_approval", "cancelled", "expired"],
        ),
    ];
    let call: &[(&str, &[&str])] = &[
        (
            "proposed",
            &[
                "blocked",
                "denied",
                "failed",
                "ready",
                "awaiting",
                "cancelled",
                "expired",
            ],
        ),
        (
            "ready",
            &[
                "started",
                "awaiting",
                "denied",
                "indeterminate",
                "cancelled",
                "expired",
            ],
        ),
        (
            "awaiting",
            &["approved", "denied", "succeeded", "cancelled", "expired"],
        ),
        (
            "approved",
            &[
                "started",
                "denied",
                "awaiting",
                "indeterminate",
                "cancelled",
                "expired",
            ],
        ),
        (
            "started",
            &["succeeded", "failed", "indeterminate", "ready"],
        ),
        (
            "indeterminate",
            &["succeeded_by_note", "ready", "abandoned"],
        ),
    ];
    let approval: &[(&str, &[&str])] = &[
        (
            "pending",
            &["approved", "denied", "expired", "revoked", "consumed"],
        ),
        ("approved", &["consumed", "revoked", "pending"]),
    ];
    let outbox: &[(&str, &[&str])] = &[
        (
            "pending",
            &["sending", "unknown", "superseded", "abandoned"],
        ),
        (
            "sending",
            &["sent", "pending", "failed", "unknown", "superseded"],
        ),
        ("unknown", &["sent", "pending", "abandoned"]),
        ("failed", &["sent", "pending", "abandoned"]),
    ];
    fn same<T: Copy + ToString>(
        all: &[T],
        table: &[(&str, &[&str])],
        legal: impl Fn(T, T) -> bool,
    ) {
        for from in all {
            for to in all {
                let expected = table.iter().any(|(state, next)| {
                    *state == from.to_string() && next.contains(&to.to_string().as_str())
                });
                assert_eq!(
                    legal(*from, *to),
                    expected,
                    "{} to {}",
                    from.to_string(),
                    to.to_string()
                );
            }
        }
    }
    same(
        ContinuationState::ALL,
        continuation,
        transitions::continuation,
    );
    same(ToolCallState::ALL, call, transitions::tool_call);
    same(ApprovalState::ALL, approval, transitions::approval);
    same(OutboxState::ALL, outbox, transitions::outbox);
}

#[tokio::test]
async fn hot_queries_use_their_indexes() {
    let world = World::new().await;
    let plans = world
        .store
        .with_writer(|conn| {
            [
                "SELECT c.id FROM continuations c WHERE c.session_id = x'00' AND c.ended_at IS NULL AND c.state = 'pending'
                    AND NOT EXISTS (SELECT 1 FROM continuations r WHERE r.session_id = x'00' AND r.ended_at IS NULL
                        AND r.state = 'running') ORDER BY c.position LIMIT 1",
                "SELECT position FROM outbox WHERE channel = 'team' AND settled_at IS NULL ORDER BY position",
                "SELECT id FROM continuations WHERE session_id = x'00' AND +state = 'completed'
                    AND position < (SELECT position FROM continuations WHERE id = x'01') ORDER BY position DESC LIMIT 6",
                "SELECT id FROM continuations c WHERE c.ended_at IS NULL",
                "SELECT id FROM approvals a WHERE a.state = 'pending' ORDER BY a.position",
                "SELECT id FROM approvals WHERE state = 'pending' AND expires_at IS NOT NULL AND expires_at <= 5",
                "SELECT id FROM sessions s WHERE s.state = 'active' ORDER BY s.updated_at DESC LIMIT 200",
                "SELECT id FROM tool_calls WHERE state = 'started' ORDER BY +position",
                "SELECT id FROM continuations WHERE ended_at IS NULL AND state = 'running' ORDER BY +position",
                "SELECT id FROM continuations WHERE ended_at IS NULL AND state IN ('pending', 'interrupted')
                    ORDER BY +position DESC",
                "SELECT DISTINCT session_id FROM continuations WHERE ended_at IS NULL AND state = 'pending'",
                "SELECT o.id FROM outbox o WHERE o.state = 'sending' ORDER BY o.position",
                "SELECT m.id FROM model_attempts m WHERE m.settled_at IS NULL",
                "SELECT id FROM tool_calls c WHERE c.channel = 'team' ORDER BY c.position DESC LIMIT 20",
                "SELECT seq FROM events WHERE seq > 5 ORDER BY seq LIMIT 10",
                "SELECT c.ended_at, c.state FROM continuations c WHERE c.ended_at >= 5 AND c.ended_at < 9",
                "SELECT t.name, t.finished_at, t.state, t.duration_ms FROM tool_calls t
                    WHERE t.finished_at >= 5 AND t.finished_at < 9",
                "SELECT c.requested_at, c.decided_at, c.state FROM approvals c WHERE c.updated_at >= 5",
                "SELECT channel, settled_at, state FROM outbox WHERE settled_at >= 5 AND settled_at < 9",
                "SELECT m.started_at FROM model_attempts m WHERE m.started_at >= 5 AND m.started_at < 9",
            ]
            .iter()
            .map(|sql| {
                let mut statement = conn.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
                let lines: Vec<String> = statement
                    .query_map([], |row| row.get(3))
                    .unwrap()
                    .map(Result::unwrap)
                    .collect();
                (*sql, lines)
            })
            .collect::<Vec<_>>()
        })
        .await
        .unwrap();
    for (sql, lines) in plans {
        for line in lines {
            // A scan over a partial index reads only rows that are open.
            let open = [
                "continuations_open",
                "tool_calls_started",
                "model_attempts_open",
            ]
            .iter()
            .any(|index| line.contains(index));
            assert!(!line.starts_with("SCAN") || open, "{sql}\n{line}");
        }
    }
}

#[tokio::test]
async fn the_file_is_marked_and_can_shrink() {
    let world = World::new().await;
    let facts: (i64, i64, i64) = world
        .store
        .with_writer(|conn| {
            let one = |sql: &str| conn.query_row(sql, [], |row| row.get(0)).unwrap();
            (
                one("PRAGMA application_id"),
                one("PRAGMA auto_vacuum"),
                one("PRAGMA foreign_keys"),
            )
        })
        .await
        .unwrap();
    assert_eq!(facts, (0x4c46_5231, 2, 1));
}

#[tokio::test]
async fn the_audit_is_append_only_and_shows_what_was_changed() {
    let world = World::new().await;
    let changed = world
        .store
        .with_writer(|conn| {
            (
                conn.execute("UPDATE audit SET actor = 'x'", []).is_err(),
                conn.execute("DELETE FROM audit", []).is_err(),
            )
        })
        .await
        .unwrap();
    assert_eq!(changed, (true, true));
    let rows = world
        .store
        .read(|reader| reader.verify_audit())
        .await
        .unwrap();
    assert!(rows.is_ok_and(|rows| rows >= 2));
    world
        .store
        .with_writer(|conn| {
            conn.execute_batch("DROP TRIGGER audit_is_append_only_update; UPDATE audit SET actor = 'x' WHERE seq = 2")
                .unwrap();
        })
        .await
        .unwrap();
    let broken = world
        .store
        .read(|reader| reader.verify_audit())
        .await
        .unwrap();
    assert_eq!(broken.unwrap_err().seq, 2);
}

#[test]
fn every_check_of_schema_25_lists_exactly_the_words_of_its_vocabulary() {
    let checked = compare(SKILLS_SQL, &[("skills", "kind", words_of(SkillKind::ALL))]);
    let all = SKILLS_SQL.matches(" IN ('").count();
    assert_eq!(all, checked, "a CHECK is not compared with its vocabulary");
}
