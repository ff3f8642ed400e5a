//! The durable turn (ingest, claim, reserve, finish) with 1, 8 and 64 producers, and in the same run what bare
//! SQLite takes for as many rows in as many commits of the same classes, grouped as well as can be.

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

use std::sync::Arc;
use std::time::{Duration, Instant};

use leverframe::store::commands::claim::Claim;
use rusqlite::Connection;

use crate::world::World;

/// Turns of one producer.
const TURNS: usize = 100;
/// Rows that the four commits of a turn write: message and session, start, attempt, answer.
const ROWS: [usize; 4] = [6, 2, 2, 8];
/// Only the claim may be lost in a power cut.
const FULL: [bool; 4] = [true, false, true, true];

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    for producers in [1, 8, 64] {
        let floor = floor(producers);
        let ours = runtime.block_on(turns(producers));
        let ratio = ours.as_secs_f64() / floor.as_secs_f64();
        println!("producers {producers}: {ratio:.2} times the floor\n");
    }
}

/// Time a turn, by wall clock: all producers together.
async fn turns(producers: usize) -> Duration {
    let world = Arc::new(World::new().await);
    let began = Instant::now();
    let mut tasks = Vec::new();
    for producer in 0..producers {
        let world = Arc::clone(&world);
        tasks.push(tokio::spawn(async move {
            let conversation = format!("chat-{producer}");
            let mut latencies = Vec::with_capacity(TURNS);
            for _ in 0..TURNS {
                let start = Instant::now();
                let session_id = world.ingest(&conversation).await.session_id.unwrap();
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
                latencies.push(start.elapsed());
            }
            latencies
        }));
    }
    let mut latencies = Vec::new();
    for task in tasks {
        latencies.extend(task.await.unwrap());
    }
    let each = began.elapsed() / u32::try_from(latencies.len()).unwrap();
    harness::report(&format!("turn, {producers} producers: latency"), latencies);
    println!("{:<44} {each:?}", "  time a turn");
    each
}

/// The same rows and commits on one bare connection, `group` turns in each commit.
fn floor(group: usize) -> Duration {
    let dir = tempfile::tempdir().unwrap();
    let conn = Connection::open(dir.path().join("floor.db")).unwrap();
    conn.pragma_update(None, "journal_mode", "WAL").unwrap();
    conn.execute_batch(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, a BLOB NOT NULL, b TEXT NOT NULL) STRICT",
    )
    .unwrap();
    let text = "x".repeat(250);
    let began = Instant::now();
    for _ in 0..TURNS {
        for (rows, full) in ROWS.iter().zip(FULL) {
            let class = if full { "FULL" } else { "NORMAL" };
            conn.pragma_update(None, "synchronous", class).unwrap();
            conn.execute_batch("BEGIN IMMEDIATE").unwrap();
            let mut insert = conn
                .prepare_cached("INSERT INTO t (a, b) VALUES (?1, ?2)")
                .unwrap();
            for _ in 0..rows * group {
                insert.execute((&[7_u8; 16], &text)).unwrap();
            }
            drop(insert);
            conn.execute_batch("COMMIT").unwrap();
        }
    }
    let each = began.elapsed() / u32::try_from(TURNS * group).unwrap();
    println!(
        "{:<44} {each:?}",
        format!("floor, {group} turns a commit: time a turn")
    );
    each
}
