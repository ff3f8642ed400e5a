//! What a turn costs the database does not grow with its session.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use leverframe::protocol::ids::{ContinuationId, SessionId};
use leverframe::store::error::StoreError;
use leverframe::store::queries::compactions::Reach;
use leverframe::store::reader::Reader;
use rusqlite::Connection;

use crate::support::world::World;

/// Turns that are put into the session, put away as a compaction does.
const TURNS: u32 = 4000;

/// Steps of SQLite's machine on the writing connection. They count work, not time.
struct Steps(Arc<AtomicU64>);

impl Steps {
    async fn of(world: &World) -> Self {
        let steps = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&steps);
        on(world, move |conn| {
            conn.progress_handler(
                1,
                Some(move || {
                    count.fetch_add(1, Ordering::SeqCst);
                    false
                }),
            )
            .unwrap();
        })
        .await;
        Self(steps)
    }

    fn taken(&self) -> u64 {
        self.0.swap(0, Ordering::SeqCst)
    }
}

async fn on<T: Send + 'static>(
    world: &World,
    f: impl FnOnce(&Connection) -> T + Send + 'static,
) -> T {
    world.store.with_writer(f).await.unwrap()
}

async fn read<T: Send + 'static>(
    world: &World,
    f: impl FnOnce(&Reader<'_>) -> Result<T, StoreError> + Send + 'static,
) {
    on(world, move |conn| f(&Reader::over(conn)).map(drop).unwrap()).await;
}

/// Takes three turns, puts one away, reads what a turn and a compaction read: the steps of each.
async fn costs(world: &World, steps: &Steps) -> BTreeMap<&'static str, u64> {
    let mut costs = BTreeMap::new();
    let mut turns: Vec<(SessionId, ContinuationId)> = Vec::new();
    for _ in 0..3 {
        steps.taken();
        let (session, turn) = world.running("chat").await;
        costs.insert("ingest and claim", steps.taken());
        world.finish(turn, 1).await;
        costs.insert("finish", steps.taken());
        turns.push((session, turn));
    }
    let (session, last) = turns[2];
    let epoch = world.epoch();
    read(world, move |reader| reader.turn(last)).await;
    costs.insert("turn", steps.taken());
    read(world, move |reader| reader.history(session, last, 20)).await;
    costs.insert("history", steps.taken());
    read(world, move |reader| reader.uncovered(session, 40)).await;
    costs.insert("uncovered", steps.taken());
    let reach = Reach {
        counted: 40,
        oldest: 40,
        newest: 40,
    };
    read(world, move |reader| {
        reader.compactable(session, epoch, reach)
    })
    .await;
    costs.insert("compactable", steps.taken());
    let ids = turns.iter().map(|(_, turn)| *turn).collect::<Vec<_>>();
    let begun = world.compacting(session, last).await;
    steps.taken();
    world.compact(begun, &ids).await;
    costs.insert("commit of a compaction", steps.taken());
    costs
}

#[tokio::test]
async fn a_turn_costs_the_same_however_long_its_session_is() {
    let world = World::new().await;
    let steps = Steps::of(&world).await;
    // The first time prepares the statements.
    costs(&world, &steps).await;
    let short = costs(&world, &steps).await;
    on(&world, |conn| {
        conn.execute_batch(&format!(
            "CREATE TEMP TABLE copied AS SELECT * FROM continuations LIMIT 1;
            WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {TURNS})
                INSERT INTO copied SELECT c.* FROM copied c, n;
            UPDATE copied SET id = randomblob(16), position = NULL;
            INSERT INTO continuations SELECT * FROM copied;
            DROP TABLE copied;
            UPDATE summaries SET covers_to = (SELECT max(position) FROM continuations)"
        ))
        .unwrap();
    })
    .await;
    let long = costs(&world, &steps).await;
    for (what, short) in short {
        let long = long[what];
        assert!(short > 10, "{what}: {short} steps, nothing is counted");
        assert!(
            long < short * 2,
            "{what}: {short} steps at first, {long} behind {TURNS} turns"
        );
    }
}
