//! Rows of compactions go like turns do; what the next prompt and the next compaction are made from stays.

use leverframe::protocol::enums::CompactionState;
use leverframe::protocol::ids::{ContinuationId, SessionId};
use leverframe::protocol::memory::Summary;
use leverframe::protocol::snapshot::PageRequest;
use leverframe::store::commands::fail_compaction::FailCompaction;
use leverframe::store::commands::remove::CHUNK;
use leverframe::store::commands::sweep_loose::SweepCompactions;

use crate::retention::pieces::settle;
use crate::retention::world::{DAY_MS, sound, sweep, try_sweep};
use crate::support::world::{World, usage};

async fn talked(
    world: &World,
    conversation: &str,
    turns: usize,
) -> (SessionId, Vec<ContinuationId>) {
    let (mut session, mut all) = (None, Vec::new());
    for _ in 0..turns {
        let (of, turn) = world.running(conversation).await;
        world.finish(turn, 1).await;
        session = Some(of);
        all.push(turn);
    }
    settle(world).await;
    (session.unwrap(), all)
}

async fn failed(world: &World, session: SessionId, newest: ContinuationId) {
    let begun = world.compacting(session, newest).await;
    world
        .ok(FailCompaction {
            id: begun.id,
            epoch: world.epoch(),
            call: Some((begun.attempt_id, usage())),
            error: "it declines".to_owned(),
        })
        .await;
}

/// States of the compactions that a session still has, oldest first.
async fn left(world: &World, session: SessionId) -> Vec<CompactionState> {
    let page = PageRequest::default();
    let page = world
        .store
        .read(move |reader| reader.compactions(Some(session), &page))
        .await
        .unwrap();
    page.items.iter().rev().map(|one| one.state).collect()
}

/// What the next prompt of a session is made from.
async fn told(
    world: &World,
    session: SessionId,
    next: ContinuationId,
) -> (Option<Summary>, Vec<ContinuationId>) {
    world
        .store
        .read(move |reader| {
            let history = reader.history(session, next, 100)?;
            let turns = history.into_iter().map(|turn| turn.continuation_id);
            Ok((reader.summary(session)?, turns.collect()))
        })
        .await
        .unwrap()
}

#[tokio::test]
async fn old_ones_go_and_the_next_prompt_is_what_it_was() {
    use CompactionState::{Done, Failed, Running};
    let world = World::new().await;
    let (a, turns) = talked(&world, "a", 6).await;
    failed(&world, a, turns[0]).await;
    for turn in &turns[..3] {
        let begun = world.compacting(a, *turn).await;
        world.compact(begun, &[*turn]).await;
    }
    failed(&world, a, turns[3]).await;
    failed(&world, a, turns[3]).await;
    let (b, others) = talked(&world, "b", 2).await;
    failed(&world, b, others[0]).await;
    failed(&world, b, others[0]).await;
    world.clock.advance_millis(29 * DAY_MS);
    let early = try_sweep(&world, true).await.unwrap();
    assert_eq!(early.compactions, 0, "none of them is old");
    world.clock.advance_millis(31 * DAY_MS);
    // Both sessions are used today, and one is being compacted.
    let (_, next) = world.running("a").await;
    let (_, other) = world.running("b").await;
    world.compacting(b, others[1]).await;
    let before = told(&world, a, next).await;
    let preview = try_sweep(&world, true).await.unwrap();
    let done = sweep(&world).await;
    assert_eq!((preview.compactions, done.compactions), (6, 6));
    // What wrote the summary, the newest, and what is under way.
    assert_eq!(left(&world, a).await, [Done, Failed]);
    assert_eq!(left(&world, b).await, [Running]);
    assert_eq!(told(&world, a, next).await, before);
    assert_eq!(before.0.unwrap().version, 3);
    sound(&world).await;
    assert_eq!(sweep(&world).await.compactions, 0);

    // The next one goes on where the last one ended.
    world.finish(next, 1).await;
    world.finish(other, 1).await;
    let begun = world.compacting(a, turns[3]).await;
    world.compact(begun, &turns[3..4]).await;
    sound(&world).await;
}

#[tokio::test]
async fn a_piece_of_them_is_500_rows_at_most() {
    let world = World::new().await;
    let (session, turns) = talked(&world, "a", 1).await;
    let begun = world.compacting(session, turns[0]).await;
    world.compact(begun, &turns).await;
    let id = session.to_bytes();
    world
        .store
        .with_writer(move |conn| {
            conn.execute(
                "INSERT INTO compactions (id, session_id, state, epoch, model, turns, tokens_before, started_at, ended_at)
                 WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 1201)
                 SELECT randomblob(16), ?1, 'failed', 1, 'local/m', 1, 5, 1, 2 FROM n",
                [id],
            )
            .unwrap();
        })
        .await
        .unwrap();
    world.clock.advance_millis(60 * DAY_MS);
    let before = world.clock.now();
    let mut pieces = Vec::new();
    loop {
        let swept = world.ok(SweepCompactions { before }).await;
        if swept.rows == 0 {
            break;
        }
        pieces.push(swept.rows);
    }
    assert_eq!(pieces, [CHUNK, CHUNK, 200]);
    assert_eq!(world.count("SELECT count(*) FROM compactions").await, 2);
    sound(&world).await;
}

#[tokio::test]
async fn what_retention_removed_is_named_unless_the_summary_stands_for_it() {
    let world = World::new().await;
    let (session, turns) = talked(&world, "a", 10).await;
    let begun = world.compacting(session, turns[0]).await;
    world.compact(begun, &turns[..3]).await;
    world.clock.advance_millis(60 * DAY_MS);
    world.running("a").await;
    assert_eq!(sweep(&world).await.continuations, 4);
    let removed = world
        .store
        .read(move |reader| reader.removed_turns(session));
    assert_eq!(
        removed.await.unwrap(),
        1,
        "three of four are in the summary"
    );
    assert_eq!(world.count("SELECT removed_turns FROM sessions").await, 4);
}
