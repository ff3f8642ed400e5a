//! Sweeping 100 000 ended turns: how long a piece holds the writer, how long it takes to find what is old, and what
//! one turn would cost if SQLite looked its foreign keys up.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::redundant_closure,
    missing_docs,
    dead_code
)] // a bench is a test, and uses a part of the tests' world

mod harness;
#[path = "../tests/it/support/world.rs"]
mod world;

use std::time::{Duration, Instant};

use leverframe::store::commands::remove::Remove;
use leverframe::store::commands::sweep_history::OldHistory;
use leverframe::store::queries::sweep::SweepRules;
use rusqlite::Connection;

use crate::world::{START, World};

/// Ended turns.
const TURNS: u32 = 100_000;
const DAY_MS: i64 = 24 * 3600 * 1000;

/// A turn with one call, its approval, card and button, and a reply: twelve rows, made in bulk.
const FILL: &str = "
    PRAGMA foreign_keys = OFF;
    BEGIN;
    CREATE TEMP TABLE n (n INTEGER PRIMARY KEY, id BLOB);
    INSERT INTO n WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 100000)
        SELECT n, CAST(printf('%016d', n) AS BLOB) FROM c;
    INSERT INTO sessions (id, channel, conversation, state, created_at, updated_at)
        SELECT id, 'team', 'c' || n, 'ended', 0, 0 FROM n WHERE n % 100 = 0;
    INSERT INTO continuations (id, session_id, state, requester_id, requester_display, surface, text, max_steps,
            max_tool_calls, max_active_ms, max_tokens, created_at, updated_at, ended_at)
        SELECT id, (SELECT id FROM n s WHERE s.n = ((n.n + 99) / 100) * 100), 'completed', 'telegram:1', 'Anna', 'chat',
            hex(zeroblob(60)), 8, 16, 120000, 100000, n, n, n FROM n;
    INSERT INTO inbox (id, channel, principal, key, body_digest, disposition, continuation_id, received_at)
        SELECT id, 'team', 'bot', 'k' || n, zeroblob(32), 'turn', id, n FROM n;
    INSERT INTO steps (continuation_id, n, kind, body, at)
        SELECT id, k.k, CASE k.k WHEN 3 THEN 'final' WHEN 2 THEN 'tool_result' ELSE 'model' END, hex(zeroblob(200)), n.n
        FROM n, (SELECT 1 AS k UNION SELECT 2 UNION SELECT 3) k;
    INSERT INTO model_attempts (id, continuation_id, epoch, step, attempt, model, estimated_tokens, started_at, settled_at)
        SELECT id, id, 1, 1, 1, 'scripted/demo', 1, n, n FROM n;
    INSERT INTO tool_calls (id, continuation_id, channel, step, idx, provider_call_id, name, args, preview, access,
            effect, risk, risk_reasons, plan, digest, args_digest, idempotency_key, verdict, rule, policy_version, state,
            approval_id, attempts, result_step, created_at)
        SELECT id, id, 'team', 1, 0, 'p', 'write_file', '{}', '', 'write', 'non_idempotent', 'medium', '[]', '{}', 'd',
            'a', 'k' || n, 'ask', 'r', 1, 'succeeded', id, 1, 2, n FROM n;
    INSERT INTO tool_attempts (id, call_id, attempt, epoch, idempotency_key, approval_id, started_at)
        SELECT id, id, 1, 1, 'k' || n, id, n FROM n;
    INSERT INTO approvals (id, short_code, kind, state, digest, revision, channel, conversation, continuation_id,
            tool_call_id, requester_id, requester_display, taint, preview, offered, requested_at, updated_at)
        SELECT id, 'ABC234', 'execute', 'consumed', 'd', 1, 'team', 'c', id, id, 'telegram:1', 'Anna', '[]', '{}', '[]', n, n
        FROM n;
    INSERT INTO outbox (id, channel, conversation, continuation_id, approval_id, class, state, part, parts, text,
            created_at, updated_at, settled_at)
        SELECT id, 'team', 'c', id, id, 'approval_card', 'sent', 1, 1, '', n, n, n FROM n;
    INSERT INTO outbox (id, channel, conversation, continuation_id, class, state, part, parts, text, created_at,
            updated_at, settled_at)
        SELECT CAST(printf('r%015d', n) AS BLOB), 'team', 'c', id, 'final', 'sent', 1, 1, hex(zeroblob(100)), n, n, n FROM n;
    INSERT INTO card_tokens (token, approval_id, outbox_id, revision, digest, decision)
        SELECT 't' || n, id, id, 1, 'd', 'approve' FROM n;
    DROP TABLE n;
    COMMIT;
    PRAGMA foreign_keys = ON;
";

fn percentile(sorted: &[Duration], share: f64) -> Duration {
    let at = (sorted.len() as f64 * share) as usize;
    sorted[at.min(sorted.len() - 1)]
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(run());
}

async fn run() {
    let world = World::new().await;
    world
        .store
        .with_writer(|conn| conn.execute_batch(FILL).unwrap())
        .await
        .unwrap();
    // What a delete costs when SQLite looks at every child table itself.
    let with_keys = world
        .store
        .with_writer(|conn: &Connection| {
            let began = Instant::now();
            conn.execute_batch(
                "BEGIN;
                 DELETE FROM card_tokens WHERE approval_id = CAST('0000000000000001' AS BLOB);
                 DELETE FROM outbox WHERE continuation_id = CAST('0000000000000001' AS BLOB);
                 DELETE FROM approvals WHERE continuation_id = CAST('0000000000000001' AS BLOB);
                 ROLLBACK;",
            )
            .unwrap_or_else(|_| conn.execute_batch("ROLLBACK").unwrap());
            began.elapsed()
        })
        .await
        .unwrap();
    println!("a part of one turn with foreign keys on: {with_keys:?}");

    world.clock.advance_millis(60 * DAY_MS);
    let rules = SweepRules {
        now: world.clock.now(),
        events_before: START,
        history_before: START,
        idle_before: START,
        audit_before: START,
        keep_exchanges: 6,
    };
    let (mut chunks, mut finding) = (Vec::new(), Duration::ZERO);
    let mut removed = 0;
    let began = Instant::now();
    loop {
        let look = Instant::now();
        let old = world.store.old_turns(rules, 10_000).await.unwrap();
        finding += look.elapsed();
        if old.turns.is_empty() {
            break;
        }
        let mut from = 0;
        while from < old.turns.len() {
            let to = old.turns.len().min(from + 500);
            let command = Remove {
                what: OldHistory {
                    rules,
                    continuations_to: old.continuations_to,
                    outbox_to: old.outbox_to,
                },
                keys: old.turns[from..to].to_vec(),
            };
            let piece = Instant::now();
            let swept = world.ok(command).await;
            chunks.push(piece.elapsed());
            removed += swept.removed;
            from += swept.taken;
        }
    }
    let whole = began.elapsed();
    chunks.sort_unstable();
    println!(
        "{removed} of {TURNS} turns in {whole:?}: {} pieces, p50 {:?}, p99 {:?}, max {:?}; finding {finding:?}",
        chunks.len(),
        percentile(&chunks, 0.5),
        percentile(&chunks, 0.99),
        percentile(&chunks, 1.0),
    );
}
