//! The floor: the rows of a plain turn written by hand into the store's own schema with its pragmas, by one thread that
//! commits whatever has queued up, as the store's writer does. No reads, no rules, no audit chain, nobody to tell.

use std::sync::Arc;
use std::time::Instant;

use rusqlite::{Connection, params};
use tokio::sync::{mpsc, oneshot};

use crate::line;
use crate::world::World;

/// Commands in one commit, as in the store.
const BATCH: usize = 256;

/// One command: which one, of which producer's how manieth turn, and who waits.
struct Job {
    command: u8,
    key: [u8; 16],
    session: [u8; 16],
    done: oneshot::Sender<()>,
}

/// Rates of `producers` that write `turns` turns each.
pub(crate) async fn turns(producers: usize, turns: usize) -> f64 {
    // The schema is the store's, made by it.
    let world = World::new().await;
    let dir = world.dir.clone();
    world.store.clone().close().await;
    let path = dir.join("leverframe.db");
    let (queue, receiver) = mpsc::channel(1024);
    let writer = std::thread::spawn(move || write(&path, receiver));
    let queue = Arc::new(queue);
    let began = Instant::now();
    let tasks: Vec<_> = (0..producers)
        .map(|producer| {
            let queue = Arc::clone(&queue);
            tokio::spawn(async move {
                let session = (producer as u128 + 1).to_be_bytes();
                let mut took = Vec::with_capacity(turns);
                for turn in 0..turns {
                    let start = Instant::now();
                    let key = ((producer as u128 + 1) << 64 | turn as u128).to_be_bytes();
                    for command in 0..4 {
                        let (done, answer) = oneshot::channel();
                        let job = Job {
                            command,
                            key,
                            session,
                            done,
                        };
                        assert!(queue.send(job).await.is_ok(), "the writer ended");
                        answer.await.unwrap();
                    }
                    took.push(start.elapsed());
                }
                took
            })
        })
        .collect();
    let mut took = Vec::new();
    for task in tasks {
        took.extend(task.await.unwrap());
    }
    let all = began.elapsed();
    drop(queue);
    writer.join().unwrap();
    drop(world);
    line(&format!("bare SQLite, {producers} producers"), took, all)
}

fn write(path: &std::path::Path, mut queue: mpsc::Receiver<Job>) {
    let conn = Connection::open(path).unwrap();
    conn.set_prepared_statement_cache_capacity(64);
    conn.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA foreign_keys = ON; PRAGMA secure_delete = FAST; PRAGMA cell_size_check = ON;
         PRAGMA wal_autocheckpoint = 1000; PRAGMA synchronous = FULL",
    )
    .unwrap();
    let mut full = true;
    let mut seq: u64 = 1 << 40;
    let mut batch = Vec::with_capacity(BATCH);
    while let Some(first) = queue.blocking_recv() {
        batch.push(first);
        while batch.len() < BATCH {
            match queue.try_recv() {
                Ok(job) => batch.push(job),
                Err(_) => break,
            }
        }
        // Only a claim may be lost in a power cut.
        let durable = batch.iter().any(|job| job.command != 1);
        if durable != full {
            let class = if durable { "FULL" } else { "NORMAL" };
            conn.execute_batch(&format!("PRAGMA synchronous = {class}"))
                .unwrap();
            full = durable;
        }
        conn.prepare_cached("BEGIN IMMEDIATE")
            .unwrap()
            .execute([])
            .unwrap();
        for job in &batch {
            carry_out(&conn, job, &mut seq);
        }
        conn.prepare_cached("COMMIT").unwrap().execute([]).unwrap();
        for job in batch.drain(..) {
            let _ = job.done.send(());
        }
    }
}

fn run(conn: &Connection, sql: &str, values: impl rusqlite::Params) {
    conn.prepare_cached(sql).unwrap().execute(values).unwrap();
}

fn event(conn: &Connection, job: &Job, seq: &mut u64) {
    *seq += 1;
    run(
        conn,
        "INSERT INTO events (seq, at, session_id, continuation_id, body) VALUES (?1, 1, ?2, ?3, ?4)",
        params![
            *seq,
            job.session,
            job.key,
            r#"{"kind":"message.received","channel":"team","conversation":"chat","sender":"Anna","preview":"please do the thing"}"#
        ],
    );
}

/// The rows of one command of the store.
fn carry_out(conn: &Connection, job: &Job, seq: &mut u64) {
    match job.command {
        0 => {
            run(
                conn,
                "INSERT INTO sessions (id, channel, conversation, state, created_at, updated_at)
                 VALUES (?1, 'team', hex(?1), 'active', 1, 1) ON CONFLICT DO NOTHING",
                params![job.session],
            );
            run(
                conn,
                "INSERT INTO continuations (id, session_id, state, requester_id, requester_display, surface, text,
                    max_steps, max_tool_calls, max_active_ms, max_tokens, created_at, updated_at)
                 VALUES (?1, ?2, 'pending', 'telegram:1', 'Anna', 'chat', 'please do the thing', 8, 16, 120000, 100000,
                    1, 1)",
                params![job.key, job.session],
            );
            run(
                conn,
                "UPDATE sessions SET turns = turns + 1, last_line = 'please', last_sender = 'Anna', updated_at = 1
                 WHERE id = ?1",
                params![job.session],
            );
            run(
                conn,
                "INSERT INTO inbox (id, channel, principal, body_digest, disposition, continuation_id, received_at)
                 VALUES (?1, 'team', 'bot', zeroblob(32), 'turn', ?1, 1)",
                params![job.key],
            );
            event(conn, job, seq);
        }
        1 => {
            run(
                conn,
                "UPDATE continuations SET state = 'running', updated_at = 1, epoch = 1, attempt = 1 WHERE id = ?1",
                params![job.key],
            );
            event(conn, job, seq);
        }
        2 => run(
            conn,
            "INSERT INTO model_attempts (id, continuation_id, epoch, step, attempt, model, estimated_tokens, started_at)
             VALUES (?1, ?1, 1, 1, 1, 'scripted/demo', 500, 1)",
            params![job.key],
        ),
        _ => finish(conn, job, seq),
    }
}

fn finish(conn: &Connection, job: &Job, seq: &mut u64) {
    run(
        conn,
        "UPDATE model_attempts SET input_tokens = 100, output_tokens = 10, cached_tokens = 0, cache_write_tokens = 0,
            cost_usd = 0.01, settled_at = 1 WHERE id = ?1",
        params![job.key],
    );
    for (table, id) in [("continuations", job.key), ("sessions", job.session)] {
        run(
            conn,
            &format!(
                "UPDATE {table} SET input_tokens = input_tokens + 100, output_tokens = output_tokens + 10,
                    cost_usd = 0.01 WHERE id = ?1"
            ),
            params![id],
        );
    }
    for (n, kind) in [(1, "model"), (2, "final")] {
        run(
            conn,
            "INSERT INTO steps (continuation_id, n, kind, body, at) VALUES (?1, ?2, ?3, ?4, 1)",
            params![job.key, n, kind, "x".repeat(250)],
        );
    }
    run(
        conn,
        "UPDATE continuations SET used_steps = 1, used_active_ms = 5, updated_at = 1 WHERE id = ?1",
        params![job.key],
    );
    run(
        conn,
        "UPDATE continuations SET state = 'completed', updated_at = 1, ended_at = 1 WHERE id = ?1",
        params![job.key],
    );
    run(
        conn,
        "INSERT INTO outbox (id, channel, conversation, continuation_id, class, state, part, parts, text, created_at,
            updated_at)
         VALUES (?1, 'team', 'chat', ?1, 'final', 'pending', 1, 1, 'part 0', 1, 1)",
        params![job.key],
    );
    run(
        conn,
        "UPDATE sessions SET last_line = 'twenty chars of text', updated_at = 1 WHERE id = ?1",
        params![job.session],
    );
    for _ in 0..3 {
        event(conn, job, seq);
    }
}
