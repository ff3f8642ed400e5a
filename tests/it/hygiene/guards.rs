//! What only shows when a rule of hygiene is gone: what may not go, what stays in the history, and what comes back.

use leverframe::protocol::enums::HygieneState;
use leverframe::protocol::hygiene::HygieneReport;
use leverframe::protocol::ids::HygieneRunId;
use leverframe::store::commands::run_hygiene::BeginHygiene;
use leverframe::store::commands::undo_hygiene::{BeginUndo, EndUndo, RestoreMemories};

use crate::hygiene::world::{DAY_MS, Row, engine, everything, insert, preview, tidy, undo};
use crate::support::world::{World, by};

async fn write(world: &World, rows: Vec<Row>) {
    world
        .store
        .with_writer(move |conn| rows.iter().for_each(|row| row.insert(conn)))
        .await
        .unwrap();
}

#[tokio::test]
async fn what_an_open_turn_may_need_and_what_was_used_lately_stays() {
    let world = World::new().await;
    let (open, _) = world.running("open").await;
    let (over, turn) = world.running("over").await;
    world.finish(turn, 1).await;
    let now = world.clock.now().as_millis();
    let of = |session: leverframe::protocol::ids::SessionId, text: &str| Row {
        scope: "session",
        session: Some(session.to_bytes()),
        text: text.to_owned(),
        ..Row::old(now, 60)
    };
    let used = Row {
        text: "beta".to_owned(),
        last_used_at: Some(now - DAY_MS),
        ..Row::old(now, 60)
    };
    let rows = vec![of(open, "alpha"), of(over, "gamma"), used];
    write(&world, rows).await;
    let engine = engine(&world, "");
    assert_eq!(preview(&engine).await.archived, 1);
    assert_eq!(tidy(&engine).await.unwrap().report.archived, 1);
    let gone = "SELECT count(*) FROM memories WHERE state = 'archived' AND text = 'gamma'";
    assert_eq!(world.count(gone).await, 1);
}

#[tokio::test]
async fn what_comes_back_is_what_it_was_and_does_not_go_meanwhile() {
    let world = World::new().await;
    let now = world.clock.now().as_millis();
    let states = ["active", "superseded", "proposed"];
    let rows = states.map(|state| Row {
        state,
        text: format!("alpha {state}"),
        ..Row::old(now, 60)
    });
    write(&world, rows.to_vec()).await;
    let before = everything(&world).await;
    let engine = engine(&world, "undo_days = 3\n");
    let run = tidy(&engine).await.unwrap();
    assert_eq!(run.report.archived, 3);
    undo(&engine, run.id).await.unwrap();
    assert_eq!(everything(&world).await, before);

    // Taken back in time, and the process ends before all of it is back.
    let run = tidy(&engine).await.unwrap();
    let (id, who) = (run.id, by("anna"));
    world.ok(BeginUndo { id, by: who }).await;
    world.clock.advance_millis(30 * DAY_MS);
    assert_eq!(preview(&engine).await.removed, 0, "it was promised back");
    tidy(&engine).await.unwrap();
    let archived =
        "SELECT count(*) FROM memories WHERE state = 'archived' AND archived_by IS NOT NULL";
    assert_eq!(world.count(archived).await, 3);
    assert_eq!(world.ok(RestoreMemories { id, at_most: 500 }).await, 3);
    let ended = world.ok(EndUndo { id }).await;
    assert_eq!((ended.state, ended.restored), (HygieneState::Undone, 3));
    assert_eq!(everything(&world).await, before);
    world.sound().await;
}

#[tokio::test]
async fn only_a_run_that_is_taken_back_gives_its_memories_back() {
    let world = World::new().await;
    insert(&world, 2, |_| 60).await;
    let engine = engine(&world, "");
    let run = tidy(&engine).await.unwrap();
    let (id, at_most) = (run.id, 500);
    assert_eq!(world.ok(RestoreMemories { id, at_most }).await, 0);
    let archived = "SELECT count(*) FROM memories WHERE state = 'archived'";
    assert_eq!(world.count(archived).await, 2);
}

#[tokio::test]
async fn a_run_stays_in_the_history_as_long_as_its_memories_are_put_aside() {
    let world = World::new().await;
    insert(&world, 3, |_| 60).await;
    let engine = engine(&world, "undo_days = 30\n");
    let first = tidy(&engine).await.unwrap();
    world.sql("WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 1005)
         INSERT INTO hygiene_runs (id, state, by_label, report, at, undo_until, ended_at)
         SELECT randomblob(16), 'done', 'engine', h.report, h.at, h.undo_until, h.ended_at FROM hygiene_runs h, n",
    )
    .await;
    let runs = "SELECT count(*) FROM hygiene_runs";
    assert_eq!(world.count(runs).await, 1006);
    tidy(&engine).await.unwrap();
    assert_eq!(world.count(runs).await, 1001, "the oldest went");
    assert_eq!(undo(&engine, first.id).await.unwrap().restored, 3);
    // Now nothing needs it any more.
    tidy(&engine).await.unwrap();
    assert_eq!(world.count(runs).await, 1000);
    let id = first.id;
    let read = world.store.read(move |reader| reader.hygiene_run(id)).await;
    assert!(read.is_err(), "{read:?}");
}

#[tokio::test]
async fn what_is_removed_for_good_takes_its_embedding_along_and_counts_once() {
    let world = World::new().await;
    insert(&world, 2, |_| 60).await;
    world.sql("INSERT INTO memory_vectors SELECT id, 'local/e', 1, digest, x'0000803f', 1 FROM memories",
    )
    .await;
    let engine = engine(&world, "undo_days = 3\n");
    tidy(&engine).await.unwrap();
    let vectors = "SELECT count(*) FROM memory_vectors";
    assert_eq!(world.count(vectors).await, 2, "it may come back");
    world.clock.advance_millis(3 * DAY_MS);
    let said = preview(&engine).await;
    assert_eq!(said.removed, 2);
    assert_eq!(tidy(&engine).await.unwrap().report, said);
    assert_eq!(world.count(vectors).await, 0);
}

#[tokio::test]
async fn a_run_that_was_left_under_way_is_ended_by_the_next() {
    let world = World::new().await;
    insert(&world, 2, |_| 60).await;
    let left = HygieneRunId::generate();
    world
        .ok(BeginHygiene {
            id: left,
            by: by("anna"),
            undo_ms: DAY_MS,
            report: HygieneReport::default(),
        })
        .await;
    tidy(&engine(&world, "")).await.unwrap();
    let run = world
        .store
        .read(move |reader| reader.hygiene_run(left))
        .await;
    let run = run.unwrap();
    assert_eq!(run.state, HygieneState::Stopped);
    assert!(run.report.note.unwrap().contains("the process ended"));
    let audited = "SELECT count(*) FROM audit WHERE action = 'hygiene.run' AND actor = 'anna'";
    assert_eq!(
        world.count(audited).await,
        2,
        "each that a person asked for"
    );
}

#[tokio::test]
async fn a_retention_of_no_days_is_for_ever() {
    let world = World::new().await;
    insert(&world, 3, |_| 9_000).await;
    for (config, gone) in [
        ("channel_days = 0\n", 0),
        ("retention_days = 0\n", 0),
        ("", 3),
    ] {
        let engine = engine(&world, config);
        assert_eq!(preview(&engine).await.archived, gone, "{config}");
    }
}

#[tokio::test]
async fn what_may_not_go_counts_for_how_many_there_may_be() {
    let world = World::new().await;
    let now = world.clock.now().as_millis();
    let rows: Vec<Row> = (0..6)
        .map(|n| Row {
            pinned: n < 2,
            text: format!("alpha {n}"),
            ..Row::old(now, n)
        })
        .collect();
    write(&world, rows).await;
    for (most, gone) in [(6, 0), (5, 1), (4, 2)] {
        let engine = engine(&world, &format!("max_memories = {most}\n"));
        assert_eq!(preview(&engine).await.archived, gone, "at most {most}");
    }
}
