//! What a session learns from real usage, and how its history is read.

use leverframe::protocol::enums::Effect;
use leverframe::protocol::ids::{ContinuationId, ToolCallId};
use leverframe::protocol::session::{StepBody, Usage};
use leverframe::store::commands::finish_turn::FinishTurn;
use leverframe::store::commands::reserve_model::ReserveModel;
use leverframe::store::commands::settle_model::SettleModel;
use leverframe::store::input::{NewCallOutcome, SharedLimits};
use leverframe::store::queries::compactions::Reach;
use leverframe::store::queries::history::Exchange;

use crate::support::world::{World, call, usage};

async fn reserve(
    world: &World,
    continuation_id: ContinuationId,
    estimated: Option<u64>,
) -> leverframe::protocol::ids::ModelAttemptId {
    world
        .reserve(ReserveModel {
            continuation_id,
            epoch: world.epoch(),
            step: 1,
            attempt: 1,
            model: "one/m".to_owned(),
            estimated_tokens: 500,
            estimated_cost_usd: None,
            limits: SharedLimits::default(),
            estimated_input_tokens: estimated,
        })
        .await
}

async fn ratio(world: &World, id: ContinuationId) -> Option<f64> {
    world
        .store
        .read(move |reader| reader.turn(id))
        .await
        .unwrap()
        .estimate_ratio
}

async fn settle(world: &World, id: ContinuationId, estimated: Option<u64>, real: u64, ok: bool) {
    let attempt_id = reserve(world, id, estimated).await;
    world
        .ok(SettleModel {
            attempt_id,
            usage: Usage {
                input_tokens: real,
                ..usage()
            },
            error: (!ok).then(|| "it broke".to_owned()),
            active_ms: 0,
        })
        .await;
}

#[tokio::test]
async fn a_session_learns_how_far_its_estimates_are_off() {
    let world = World::new().await;
    let (_, id) = world.running("a").await;
    assert_eq!(ratio(&world, id).await, None);
    // Nothing is learned from a failed call, from no estimate, and from counts that are about something else.
    settle(&world, id, Some(100), 200, false).await;
    settle(&world, id, None, 200, true).await;
    settle(&world, id, Some(100), 0, true).await;
    settle(&world, id, Some(1_000), 20, true).await;
    assert_eq!(ratio(&world, id).await, None);
    settle(&world, id, Some(100), 200, true).await;
    assert_eq!(ratio(&world, id).await, Some(2.0));
    settle(&world, id, Some(100), 100, true).await;
    let smoothed = ratio(&world, id).await.unwrap();
    assert!((smoothed - 1.7).abs() < 1e-9, "{smoothed}");
    for _ in 0..20 {
        settle(&world, id, Some(100), 590, true).await;
    }
    assert_eq!(ratio(&world, id).await, Some(3.0));
    for _ in 0..30 {
        settle(&world, id, Some(100), 21, true).await;
    }
    assert_eq!(ratio(&world, id).await, Some(0.5));
    // Another session has its own.
    let (_, other) = world.running("b").await;
    assert_eq!(ratio(&world, other).await, None);
    world.sound().await;
}

#[tokio::test]
async fn the_answer_itself_teaches_too() {
    let world = World::new().await;
    let (_, id) = world.running("a").await;
    let mut model = world.model_step(id).await;
    let attempt = reserve(&world, id, Some(50)).await;
    model.source = leverframe::store::input::AnswerSource::Attempt(attempt);
    world
        .ok(FinishTurn {
            continuation_id: id,
            epoch: world.epoch(),
            model: Some(model),
            text: "t".to_owned(),
            stop: "end".to_owned(),
            citations: leverframe::protocol::citation::Citations::default(),
            parts: Vec::new(),
            session_last_line: "t".to_owned(),
        })
        .await;
    // 100 real tokens of 50 estimated.
    assert_eq!(ratio(&world, id).await, Some(2.0));
}

#[tokio::test]
async fn earlier_turns_are_read_with_their_steps_and_calls_in_order() {
    let world = World::new().await;
    let mut turns = Vec::new();
    for count in [0, 2, 1] {
        let (_, id) = world.running("a").await;
        let calls: Vec<_> = (0..count)
            .map(|_| call(Effect::ReadOnly, NewCallOutcome::Ready))
            .collect();
        let started: Vec<_> = calls
            .iter()
            .map(|call| (call.id, call.digest.clone()))
            .collect();
        if count > 0 {
            world.propose(id, calls).await;
        }
        for (call, digest) in &started {
            world.start(*call, digest).await;
            world.succeed(*call, 1).await;
        }
        world.finish(id, 1).await;
        turns.push((id, started.into_iter().map(|(id, _)| id).collect()));
    }
    let (session, now) = world.running("a").await;
    let epoch = world.epoch();
    let read = |exchange: &Exchange| -> (ContinuationId, Vec<ToolCallId>) {
        let numbers: Vec<u32> = exchange.steps.iter().map(|step| step.n).collect();
        assert!(numbers.is_sorted() && !numbers.is_empty(), "{numbers:?}");
        let results = exchange
            .steps
            .iter()
            .filter(|step| matches!(step.body, StepBody::ToolResult { .. }));
        assert_eq!(results.count(), exchange.calls.len());
        let calls = exchange.calls.iter().map(|row| row.call.id).collect();
        (exchange.continuation_id, calls)
    };
    let reach = Reach {
        counted: 10,
        oldest: 2,
        newest: 2,
    };
    let (history, found) = world
        .store
        .read(move |reader| {
            let history = reader.history(session, now, 10)?;
            Ok((history, reader.compactable(session, epoch, reach)?))
        })
        .await
        .unwrap();
    assert_eq!(history.iter().map(read).collect::<Vec<_>>(), turns);
    let oldest = found.oldest.iter().map(|turn| read(&turn.exchange));
    assert_eq!(oldest.collect::<Vec<_>>(), turns[..2]);
    assert_eq!(
        found.newest.iter().map(read).collect::<Vec<_>>(),
        turns[1..]
    );
}

#[tokio::test]
async fn history_is_read_from_the_end_of_an_index() {
    let world = World::new().await;
    for _ in 0..5 {
        let (_, id) = world.running("a").await;
        world.finish(id, 1).await;
    }
    let (session, now) = world.running("a").await;
    let history = world
        .store
        .read(move |reader| reader.history(session, now, 3))
        .await
        .unwrap();
    assert_eq!(history.len(), 3);
    assert!(history.iter().all(|exchange| exchange.requester == "Anna"));
    let plan = world
        .store
        .read(|reader| reader.history_plan())
        .await
        .unwrap()
        .join("\n");
    assert!(
        plan.contains(
            "SEARCH c USING INDEX continuations_of_session (session_id=? AND rowid>? AND rowid<?)"
        ),
        "{plan}"
    );
    assert!(
        !plan.contains("SCAN") && !plan.contains("TEMP B-TREE"),
        "{plan}"
    );
}
