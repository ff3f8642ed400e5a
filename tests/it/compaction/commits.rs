//! The transactions: one compaction a session, all of it or nothing, and money in the right places.

use leverframe::protocol::budget::Limit;
use leverframe::protocol::enums::{Autonomy, CompactionState};
use leverframe::protocol::ids::CompactionId;
use leverframe::protocol::ids::{ContinuationId, SessionId};
use leverframe::protocol::snapshot::PageRequest;
use leverframe::store::commands::begin_compaction::BeginCompaction;
use leverframe::store::commands::end_session::EndSession;
use leverframe::store::commands::fail_compaction::FailCompaction;
use leverframe::store::commands::reserve_model::Reservation;
use leverframe::store::commands::retry_compaction::RetryCompaction;
use leverframe::store::commands::set_policy::SetPolicy;
use leverframe::store::input::BudgetKind;

use crate::support::world::{World, by, compaction_call, usage};

/// A session with so many completed turns.
async fn talked(world: &World, turns: usize) -> (SessionId, Vec<ContinuationId>) {
    let mut all = Vec::new();
    let mut session = None;
    for _ in 0..turns {
        let (of, turn) = world.running("talk").await;
        world.finish(turn, 1).await;
        session = Some(of);
        all.push(turn);
    }
    (session.unwrap(), all)
}

async fn number(world: &World, query: &'static str) -> i64 {
    world
        .store
        .with_writer(move |conn| conn.query_row(query, [], |row| row.get(0)).unwrap())
        .await
        .unwrap()
}

async fn sent(world: &World, session: SessionId) -> Vec<ContinuationId> {
    let (_, next) = world.running("talk").await;
    let history = world
        .store
        .read(move |reader| reader.history(session, next, 100))
        .await
        .unwrap();
    world.finish(next, 1).await;
    history
        .into_iter()
        .map(|turn| turn.continuation_id)
        .collect()
}

#[tokio::test]
async fn what_a_summary_covers_is_kept_and_not_sent() {
    let world = World::new().await;
    let (session, turns) = talked(&world, 5).await;
    let begun = world.compacting(session, turns[2]).await;
    assert_eq!(sent(&world, session).await.len(), 5);
    world.compact(begun, &turns[..3]).await;
    world.sound().await;
    let history = sent(&world, session).await;
    assert_eq!(history[..2], turns[3..]);
    assert_eq!(history.len(), 3);
    let summary = world
        .store
        .read(move |reader| reader.summary(session))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        (summary.version, summary.turns, summary.text.as_str()),
        (1, 3, "3 turns")
    );
    // The rows are all there.
    assert_eq!(
        number(&world, "SELECT count(*) FROM continuations").await,
        7
    );
    assert_eq!(
        number(
            &world,
            "SELECT count(*) FROM continuations WHERE archived_at IS NOT NULL"
        )
        .await,
        3
    );
    // The next one goes on where this one ended.
    let begun = world.compacting(session, turns[4]).await;
    world.compact(begun, &turns[3..]).await;
    let summary = world
        .store
        .read(move |reader| reader.summary(session))
        .await
        .unwrap()
        .unwrap();
    assert_eq!((summary.version, summary.turns), (2, 5));
    world.sound().await;
}

#[tokio::test]
async fn nothing_is_put_away_with_a_gap_twice_or_while_it_is_open() {
    let world = World::new().await;
    let (session, turns) = talked(&world, 4).await;
    let (_, open) = world.running("talk").await;
    let begun = world.compacting(session, turns[3]).await;
    for cover in [
        vec![turns[1], turns[2]],
        vec![turns[0], turns[2]],
        vec![turns[0], turns[0]],
        vec![turns[0], turns[1], turns[2], turns[3], open],
        vec![],
        vec![ContinuationId::generate()],
    ] {
        let said = world.illegal(world.commit_of(begun, &cover)).await;
        assert!(
            said.contains("not what was summarised"),
            "{cover:?}: {said}"
        );
        world.sound().await;
    }
    assert_eq!(number(&world, "SELECT count(*) FROM summaries").await, 0);
    assert_eq!(number(&world, "SELECT count(*) FROM memories").await, 0);
    // Another one cannot begin beside it, one that was planned upon another summary cannot begin at all.
    assert!(world.try_compacting(session, turns[3]).await.is_err());
    world.compact(begun, &turns[..2]).await;
    let late = BeginCompaction {
        id: CompactionId::generate(),
        session_id: session,
        epoch: world.epoch(),
        version: 0,
        turns: 2,
        tokens_before: 1,
        call: compaction_call(turns[3]),
    };
    assert!(world.illegal(late).await.contains("version 1"));
    let said = world.illegal(world.commit_of(begun, &turns[2..3])).await;
    assert!(said.contains("is done, not running"), "{said}");
    world.sound().await;
}

#[tokio::test]
async fn what_was_ended_by_something_else_stays_ended_and_its_call_is_settled() {
    let world = World::new().await;
    let (session, turns) = talked(&world, 3).await;
    let begun = world.compacting(session, turns[1]).await;
    world
        .store
        .with_writer(|conn| {
            let end = "UPDATE compactions SET state = 'failed', error = 'forgotten', ended_at = 1";
            conn.execute(end, []).unwrap()
        })
        .await
        .unwrap();
    let said = world.illegal(world.commit_of(begun, &turns[..2])).await;
    assert!(said.contains("is failed, not running"), "{said}");
    let ended = world
        .ok(FailCompaction {
            id: begun.id,
            epoch: world.epoch(),
            call: Some((begun.attempt_id, usage())),
            error: said,
        })
        .await;
    assert_eq!(ended.error.as_deref(), Some("forgotten"));
    let open = "SELECT count(*) FROM model_attempts WHERE settled_at IS NULL";
    assert_eq!(number(&world, open).await, 0);
    world.sound().await;
}

#[tokio::test]
async fn a_session_that_ended_meanwhile_is_left_as_it_was() {
    let world = World::new().await;
    let (session, turns) = talked(&world, 3).await;
    let begun = world.compacting(session, turns[1]).await;
    world
        .ok(EndSession {
            session_id: session,
            reason: "new".to_owned(),
            by: by("anna"),
        })
        .await;
    assert!(
        world
            .write(world.commit_of(begun, &turns[..2]))
            .await
            .is_err()
    );
    let failed = world
        .ok(FailCompaction {
            id: begun.id,
            epoch: world.epoch(),
            call: Some((begun.attempt_id, usage())),
            error: "it ended".to_owned(),
        })
        .await;
    assert_eq!(failed.state, CompactionState::Failed);
    assert_eq!(
        number(
            &world,
            "SELECT count(*) FROM continuations WHERE archived_at IS NOT NULL"
        )
        .await,
        0
    );
    world.sound().await;
}

#[tokio::test]
async fn a_start_ends_what_the_process_before_left_and_settles_its_call() {
    let world = World::new().await;
    let (session, turns) = talked(&world, 3).await;
    world.compacting(session, turns[1]).await;
    let spent = number(
        &world,
        "SELECT CAST(spent_usd * 1000 AS INTEGER) FROM sessions",
    )
    .await;
    let world = world.crash().await;
    world.sound().await;
    let page = world
        .store
        .read(move |reader| reader.compactions(Some(session), &PageRequest::default()))
        .await
        .unwrap();
    assert_eq!(page.items[0].state, CompactionState::Failed);
    assert!(
        page.items[0]
            .error
            .as_deref()
            .unwrap()
            .contains("the process ended")
    );
    // At its estimate, 0.05 dollars, on the session and not on the turn.
    let now = number(
        &world,
        "SELECT CAST(spent_usd * 1000 AS INTEGER) FROM sessions",
    )
    .await;
    assert_eq!(now - spent, 50);
    assert_eq!(
        number(
            &world,
            "SELECT max(CAST(spent_usd * 1000 AS INTEGER)) FROM continuations"
        )
        .await,
        10
    );
    // And it is tried again.
    let begun = world.compacting(session, turns[1]).await;
    world.compact(begun, &turns[..2]).await;
    world.sound().await;
}

#[tokio::test]
async fn budgets_of_session_and_day_hold_and_that_of_the_turn_does_not() {
    let world = World::new().await;
    let (session, turns) = talked(&world, 3).await;
    let begin = |limit: Option<u64>| {
        let mut call = compaction_call(turns[1]);
        call.limits.session = Limit {
            max_tokens: limit,
            max_cost_usd: None,
        };
        BeginCompaction {
            id: CompactionId::generate(),
            session_id: session,
            epoch: world.epoch(),
            version: 0,
            turns: 2,
            tokens_before: 1,
            call,
        }
    };
    // Three turns used 110 each; the call may use 500.
    let Reservation::Exhausted(stop) = world.ok(begin(Some(829))).await else {
        panic!("it was granted");
    };
    assert_eq!(stop.budget, BudgetKind::SessionTokens);
    assert_eq!(number(&world, "SELECT count(*) FROM compactions").await, 0);
    // The turn it hangs on may use nothing any more.
    world
        .store
        .with_writer(|conn| {
            conn.execute("UPDATE continuations SET max_tokens = 1", [])
                .unwrap()
        })
        .await
        .unwrap();
    let begin = begin(Some(830));
    let id = begin.id;
    let Reservation::Granted(attempt_id) = world.ok(begin).await else {
        panic!("it was refused");
    };
    // A second call is judged with the first settled, and a refusal leaves the first settled.
    let mut call = compaction_call(turns[1]);
    call.limits.session.max_tokens = Some(830);
    let again = world
        .ok(RetryCompaction {
            id,
            epoch: world.epoch(),
            attempt_id,
            usage: usage(),
            error: "not JSON".to_owned(),
            call,
        })
        .await;
    assert!(matches!(again, Reservation::Exhausted(_)));
    assert_eq!(
        number(
            &world,
            "SELECT count(*) FROM model_attempts WHERE settled_at IS NULL"
        )
        .await,
        0
    );
    world
        .ok(FailCompaction {
            id,
            epoch: world.epoch(),
            call: None,
            error: "no budget".to_owned(),
        })
        .await;
    assert_eq!(
        number(&world, "SELECT input_tokens + output_tokens FROM sessions").await,
        440
    );
    assert_eq!(
        number(
            &world,
            "SELECT max(input_tokens + output_tokens) FROM continuations"
        )
        .await,
        110
    );
    assert_eq!(
        number(
            &world,
            "SELECT sum(input_tokens + output_tokens) FROM spend"
        )
        .await,
        440
    );
    world.sound().await;
}

#[tokio::test]
async fn facts_wait_where_a_channel_is_supervised_or_something_untrusted_was_read() {
    let world = World::new().await;
    let (session, turns) = talked(&world, 4).await;
    let states = "SELECT count(*) FROM memories WHERE state = 'proposed' AND author = 'model' AND person_id = 'telegram:1'";
    let begun = world.compacting(session, turns[0]).await;
    world.compact(begun, &turns[..1]).await;
    assert_eq!(number(&world, states).await, 1);
    world
        .ok(SetPolicy {
            channel: "team".to_owned(),
            autonomy: Some(Autonomy::SemiAuto),
            expires_at: None,
            auto_approve: None,
            block: None,
            always_ask: None,
            if_version: None,
            by: by("anna"),
        })
        .await;
    let begun = world.compacting(session, turns[1]).await;
    world.compact(begun, &turns[1..2]).await;
    assert_eq!(number(&world, states).await, 1);
    assert_eq!(
        number(
            &world,
            "SELECT count(*) FROM memories WHERE state = 'active'"
        )
        .await,
        1
    );
    let begun = world.compacting(session, turns[2]).await;
    let mut commit = world.commit_of(begun, &turns[2..3]);
    commit.taint = vec!["message of a stranger".to_owned()];
    world.ok(commit).await;
    assert_eq!(number(&world, states).await, 2);
    // The same once more is no second fact.
    let begun = world.compacting(session, turns[3]).await;
    let mut commit = world.commit_of(begun, &turns[3..]);
    commit.facts[0].text = format!("Anna asked {}", turns[2]);
    let done = world.ok(commit).await;
    assert_eq!(done.facts, 0);
    assert_eq!(number(&world, "SELECT count(*) FROM memories").await, 3);
    world.sound().await;
}
