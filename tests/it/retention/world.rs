//! The sweeper of a real engine over a store whose clock stands still until it is moved.

use leverframe::protocol::problem::Problem;
use leverframe::protocol::request::{Command, Outcome, Sweep};
use leverframe::protocol::snapshot::SweepReport;
use leverframe::store::check::check_artifacts;

use crate::support::world::{World, submit};

pub const DAY_MS: i64 = 24 * 3600 * 1000;

pub async fn try_sweep(world: &World, preview: bool) -> Result<SweepReport, Problem> {
    match submit(&world.engine(""), Command::Sweep(Sweep { preview })).await? {
        Outcome::Sweep(report) => Ok(report),
        other => panic!("{other:?}"),
    }
}

pub async fn sweep(world: &World) -> SweepReport {
    try_sweep(world, false).await.unwrap()
}

/// Rows of all tables.
pub async fn all_rows(world: &World) -> u64 {
    world
        .store
        .with_writer(|conn| {
            let tables: Vec<String> = conn
                .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
                .unwrap()
                .query_map([], |row| row.get(0))
                .unwrap()
                .collect::<Result<_, _>>()
                .unwrap();
            let rows = |table: &String| -> u64 {
                let query = format!("SELECT count(*) FROM {table}");
                conn.query_row(&query, [], |row| row.get(0)).unwrap()
            };
            tables.iter().map(rows).sum()
        })
        .await
        .unwrap()
}

/// References without a row, those SQLite knows of and those it does not.
pub async fn dangling(world: &World) -> Vec<String> {
    world
        .store
        .with_writer(|conn| {
            let mut found: Vec<String> = conn
                .prepare("PRAGMA foreign_key_check")
                .unwrap()
                .query_map([], |row| {
                    let (table, parent): (String, String) = (row.get(0)?, row.get(2)?);
                    Ok(format!("{table} without its {parent}"))
                })
                .unwrap()
                .collect::<Result<_, _>>()
                .unwrap();
            for (what, query) in [
                (
                    "message without its turn",
                    "SELECT count(*) FROM outbox o WHERE o.continuation_id IS NOT NULL
                    AND NOT EXISTS (SELECT 1 FROM continuations c WHERE c.id = o.continuation_id)",
                ),
                (
                    "turn without the one it repeats",
                    "SELECT count(*) FROM continuations r WHERE r.retry_of IS NOT NULL
                    AND NOT EXISTS (SELECT 1 FROM continuations c WHERE c.id = r.retry_of)",
                ),
                (
                    "question without its message",
                    "SELECT count(*) FROM approvals a WHERE a.outbox_id IS NOT NULL
                    AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.id = a.outbox_id)",
                ),
                (
                    "start without its approval",
                    "SELECT count(*) FROM tool_attempts t WHERE t.approval_id IS NOT NULL
                    AND NOT EXISTS (SELECT 1 FROM approvals a WHERE a.id = t.approval_id)",
                ),
            ] {
                let count: u64 = conn.query_row(query, [], |row| row.get(0)).unwrap();
                if count > 0 {
                    found.push(format!("{count} times {what}"));
                }
            }
            found
        })
        .await
        .unwrap()
}

/// Every invariant, the files, and no reference into nothing.
pub async fn sound(world: &World) {
    world.sound().await;
    let dir = world.dir.clone();
    let wrong = world
        .store
        .read(move |reader| check_artifacts(reader, &dir))
        .await
        .unwrap();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(dangling(world).await, Vec::<String>::new());
}
