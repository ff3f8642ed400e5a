//! What durability costs: commands beside the same statements on bare SQLite, a start after a crash, the protocol of a
//! tool call, reads beside writes, and the write-ahead log under a reader that does not let go.
//!
//! Run it alone on a quiet machine: `cargo bench --bench durability`. `LEVERFRAME_BENCH_TURNS` (turns of a producer),
//! `LEVERFRAME_BENCH_HISTORY` (continuations before the start) and `LEVERFRAME_BENCH_WRITES` (turns under the stuck
//! reader) make it shorter.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::redundant_closure,
    missing_docs,
    dead_code
)] // a bench is a test, and uses a part of the tests' world

#[path = "durability/bare.rs"]
mod bare;
mod harness;
#[path = "../tests/it/support/world.rs"]
mod world;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use leverframe::protocol::enums::Effect;
use leverframe::protocol::ids::SessionId;
use leverframe::store::Store;
use leverframe::store::commands::claim::Claim;
use leverframe::store::commands::start_tool::StartToolOutcome;
use leverframe::store::input::NewCallOutcome;
use rusqlite::Connection;
use tokio::runtime::Runtime;

use crate::world::{World, call, options};

/// Commands of a turn: take in, claim, reserve, finish.
const COMMANDS: u32 = 4;
/// Continuations that were running when the process died.
const RUNNING: u64 = 1000;

fn setting(name: &str, otherwise: usize) -> usize {
    std::env::var(name)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(otherwise)
}

fn main() {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    println!("load average before: {}", load.trim());
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    commands(&runtime);
    runtime.block_on(tool_calls());
    runtime.block_on(reads_beside_writes());
    runtime.block_on(stuck_reader());
    recovery(&runtime);
}

/// One line of the table: a load, its rate and the quantiles of one turn.
fn line(name: &str, mut turns: Vec<Duration>, all: Duration) -> f64 {
    turns.sort_unstable();
    let at = |quantile: f64| turns[((turns.len() - 1) as f64 * quantile) as usize];
    let rate = turns.len() as f64 * f64::from(COMMANDS) / all.as_secs_f64();
    println!(
        "{name:<28} {rate:>9.0} commands/s   turn p50 {:>10.2?}  p99 {:>10.2?}",
        at(0.5),
        at(0.99)
    );
    rate
}

/// The plain turn with 1, 8 and 64 producers, and the same statements by a bare group-committing writer.
fn commands(runtime: &Runtime) {
    let turns = setting("LEVERFRAME_BENCH_TURNS", 200);
    for producers in [1, 8, 64] {
        // Alternately, and the best of each: a machine is never quite quiet.
        let (mut ours, mut floor) = (0.0_f64, 0.0_f64);
        for _ in 0..2 {
            floor = floor.max(runtime.block_on(bare::turns(producers, turns)));
            ours = ours.max(runtime.block_on(store_turns(producers, turns)));
        }
        println!(
            "{producers} producers: {:.2} of bare SQLite\n",
            ours / floor
        );
    }
}

async fn store_turns(producers: usize, turns: usize) -> f64 {
    let world = Arc::new(World::new().await);
    let began = Instant::now();
    let tasks: Vec<_> = (0..producers)
        .map(|producer| {
            let world = Arc::clone(&world);
            tokio::spawn(async move {
                let conversation = format!("chat-{producer}");
                let mut took = Vec::with_capacity(turns);
                for _ in 0..turns {
                    let start = Instant::now();
                    plain_turn(&world, &conversation).await;
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
    line(
        &format!("store, {producers} producers"),
        took,
        began.elapsed(),
    )
}

async fn plain_turn(world: &World, conversation: &str) {
    let session_id = world.ingest(conversation).await.session_id.unwrap();
    let epoch = world.epoch();
    let claimed = world
        .ok(Claim {
            session_id,
            epoch,
            floods: leverframe::store::input::ChannelFloods::default(),
            except: Vec::new(),
        })
        .await
        .unwrap();
    world.finish(claimed, 1).await;
}

/// What the protocol adds to a tool call: its start and its end.
async fn tool_calls() {
    let world = World::new().await;
    let (_, turn) = world.running("chat").await;
    let mut took = Vec::new();
    for _ in 0..500 {
        let new = call(Effect::NonIdempotent, NewCallOutcome::Ready);
        let (id, digest) = (new.id, new.digest.clone());
        world.propose(turn, vec![new]).await;
        let start = Instant::now();
        let StartToolOutcome::Started { attempt } = world.start(id, &digest).await else {
            panic!("not started")
        };
        world.succeed(id, attempt).await;
        took.push(start.elapsed());
    }
    harness::report("tool call, start and end", took);
}

/// 50 events read while 8 producers write.
async fn reads_beside_writes() {
    let world = Arc::new(World::new().await);
    for _ in 0..20 {
        plain_turn(&world, "before").await;
    }
    let stop = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = (0..8)
        .map(|producer| {
            let (world, stop) = (Arc::clone(&world), Arc::clone(&stop));
            tokio::spawn(async move {
                while !stop.load(Ordering::Relaxed) {
                    plain_turn(&world, &format!("chat-{producer}")).await;
                }
            })
        })
        .collect();
    let first = world.store.epoch() << 32;
    let mut took = Vec::new();
    for _ in 0..1000 {
        let start = Instant::now();
        let _events = world.store.events_after(first, 50).await.unwrap();
        took.push(start.elapsed());
    }
    stop.store(true, Ordering::Relaxed);
    for writer in writers {
        writer.await.unwrap();
    }
    harness::report("50 events read beside 8 writers", took);
}

/// How the log grows while a second connection holds a read transaction, and that it shrinks after.
async fn stuck_reader() {
    let writes = setting("LEVERFRAME_BENCH_WRITES", 2000);
    let world = World::new().await;
    let log = world.dir.join("leverframe.db-wal");
    let size = || std::fs::metadata(&log).map_or(0.0, |data| data.len() as f64 / 1e6);
    for _ in 0..writes {
        plain_turn(&world, "chat").await;
    }
    println!("log after {writes} turns, no reader: {:.1} MB", size());
    let stuck = Connection::open(world.dir.join("leverframe.db")).unwrap();
    stuck.execute_batch("BEGIN").unwrap();
    let _: u64 = stuck
        .query_row("SELECT count(*) FROM events", [], |row| row.get(0))
        .unwrap();
    for quarter in 1..=4 {
        for _ in 0..writes / 4 {
            plain_turn(&world, "chat").await;
        }
        println!(
            "log after {} turns under a stuck reader: {:.1} MB",
            writes / 4 * quarter,
            size()
        );
    }
    stuck.execute_batch("COMMIT").unwrap();
    drop(stuck);
    let held = size();
    for _ in 0..writes {
        plain_turn(&world, "chat").await;
    }
    println!(
        "log {writes} turns after it let go: {:.1} MB (was {held:.1})",
        size()
    );
    let dir = world.dir.clone();
    let log = dir.join("leverframe.db-wal");
    world.store.clone().close().await;
    println!(
        "log after a clean end: {:.1} MB\n",
        std::fs::metadata(&log).map_or(0.0, |data| data.len() as f64 / 1e6)
    );
}

/// A start on a long history with turns that were running when the process died.
fn recovery(runtime: &Runtime) {
    let history = setting("LEVERFRAME_BENCH_HISTORY", 200_000);
    let (world, session) = runtime.block_on(async {
        let world = World::new().await;
        let session = world.ingest("chat").await.session_id.unwrap();
        (world, session)
    });
    runtime
        .block_on(
            world
                .store
                .with_writer(move |conn| fill(conn, session, history as u64)),
        )
        .unwrap();
    let size = std::fs::metadata(world.dir.join("leverframe.db"))
        .unwrap()
        .len();
    // What a killed process leaves, opened by a new one: only the opening is measured.
    let copy = tempfile::tempdir().unwrap();
    let (from, to) = (world.dir.clone(), copy.path().to_owned());
    runtime
        .block_on(world.store.with_writer(move |_| {
            for entry in std::fs::read_dir(from).unwrap() {
                let entry = entry.unwrap();
                if !entry.file_name().to_string_lossy().ends_with("-shm") {
                    std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
                }
            }
        }))
        .unwrap();
    for round in ["after a crash", "after that crash, again"] {
        let start = Instant::now();
        let opened = Store::open(options(copy.path(), &world.clock)).unwrap();
        println!(
            "start {round}: {:.2?} ({history} continuations, {} were running, {:.0} MB)",
            start.elapsed(),
            opened.recovery.interrupted.len(),
            size as f64 / 1e6
        );
        // Not closed: the next start follows a crash too. The lock goes with the writer.
        drop(opened);
    }
}

/// A history of finished turns, and turns that run, each in a session of its own.
fn fill(conn: &Connection, session: SessionId, history: u64) {
    let numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ";
    let columns = "session_id, state, epoch, attempt, requester_id, requester_display, surface, text, max_steps,
        max_tool_calls, max_active_ms, max_tokens, created_at, updated_at, ended_at";
    let limits = "'telegram:1', 'Anna', 'chat', 'please do the thing', 8, 16, 120000, 100000, 1, 1";
    conn.execute_batch("PRAGMA synchronous = OFF; BEGIN")
        .unwrap();
    conn.execute(
        &format!(
            "{numbers} {history}) INSERT INTO continuations (id, {columns})
             SELECT randomblob(16), ?1, 'completed', 1, 1, {limits}, 1 FROM n"
        ),
        [session.to_bytes()],
    )
    .unwrap();
    conn.execute_batch(&format!(
        "{numbers} {RUNNING}) INSERT INTO sessions (id, channel, conversation, state, created_at, updated_at)
         SELECT randomblob(16), 'team', 'running-' || i, 'active', 1, 1 FROM n;
         INSERT INTO continuations (id, {columns})
            SELECT randomblob(16), id, 'running', 1, 1, {limits}, NULL FROM sessions WHERE conversation LIKE 'running-%';
         INSERT INTO inbox (id, channel, principal, key, body_digest, disposition, continuation_id, received_at)
            SELECT randomblob(16), 'team', 'bot', hex(id), zeroblob(32), 'turn', id, 1 FROM continuations
            WHERE id NOT IN (SELECT continuation_id FROM inbox WHERE continuation_id IS NOT NULL);
         INSERT INTO steps (continuation_id, n, kind, body, at)
            SELECT id, 1, 'model', json_object('kind', 'model', 'text', hex(randomblob(100))), 1 FROM continuations;
         INSERT INTO steps (continuation_id, n, kind, body, at)
            SELECT id, 2, 'final', json_object('kind', 'final', 'text', hex(randomblob(100))), 1 FROM continuations
            WHERE state = 'completed';
         COMMIT; PRAGMA synchronous = FULL; PRAGMA wal_checkpoint(TRUNCATE)"
    ))
    .unwrap();
}
