//! A database of 250 MB backed up while a writer commits durably: how long it takes, and what the writer notices.

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
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use leverframe::store::backup::BackupRequest;

use crate::world::World;

/// Bytes of the database before it is backed up.
const SIZE: u64 = 250 * 1000 * 1000;
/// Commits timed without a backup, for comparison.
const ALONE: usize = 500;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(run());
}

async fn run() {
    let world = Arc::new(World::new().await);
    grow(&world).await;
    let database = world.dir.join("leverframe.db");
    let size = std::fs::metadata(&database).unwrap().len();
    let mut alone = Vec::new();
    for _ in 0..ALONE {
        alone.push(commit(&world).await);
    }
    let worst_alone = alone.iter().max().copied().unwrap_or_default();
    harness::report("durable commit, no backup", alone);
    let stop = Arc::new(AtomicBool::new(false));
    let writing = {
        let (world, stop) = (Arc::clone(&world), Arc::clone(&stop));
        tokio::spawn(async move {
            let mut taken = Vec::new();
            while !stop.load(Ordering::Acquire) {
                taken.push(commit(&world).await);
            }
            taken
        })
    };
    let target = tempfile::tempdir().unwrap();
    let began = Instant::now();
    let report = world
        .store
        .backup(BackupRequest {
            file: target.path().join("backup.tar"),
            version: "bench".to_owned(),
            created_at: world.clock.now(),
            extras: Vec::new(),
            notes: Vec::new(),
        })
        .await
        .unwrap();
    let took = began.elapsed();
    stop.store(true, Ordering::Release);
    let during = writing.await.unwrap();
    let worst = during.iter().max().copied().unwrap_or_default();
    harness::report("durable commit, during the backup", during);
    println!("longest commit: {worst_alone:?} without, {worst:?} during");
    println!(
        "backup of {} MB into {} MB: {took:?}",
        size / 1_000_000,
        report.size / 1_000_000
    );
    harness::throughput("backup", usize::try_from(size).unwrap(), took);
}

/// One acknowledged message.
async fn commit(world: &World) -> Duration {
    let began = Instant::now();
    world.ingest("load").await;
    began.elapsed()
}

/// Fills the log of events until the file is large enough.
async fn grow(world: &World) {
    let database = world.dir.join("leverframe.db");
    while std::fs::metadata(&database).unwrap().len() < SIZE {
        world
            .store
            .with_writer(|conn| {
                conn.execute_batch(
                    "CREATE TABLE IF NOT EXISTS ballast (id INTEGER PRIMARY KEY, content BLOB);
                     WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500)
                     INSERT INTO ballast (content) SELECT randomblob(4000) FROM n;
                     PRAGMA wal_checkpoint(TRUNCATE);",
                )
                .unwrap();
            })
            .await
            .unwrap();
    }
}
