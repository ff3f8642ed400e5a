//! What a start makes of everything that was in flight.

use leverframe::protocol::channel::SendIdempotency;
use leverframe::protocol::enums::{
    ApprovalKind, ContinuationState, DecisionKind, Effect, OutboxState, ToolCallState,
};
use leverframe::store::commands::begin_send::BeginSend;
use leverframe::store::commands::claim::Claim;
use leverframe::store::commands::park::Park;
use leverframe::store::commands::release_turn::{Yield, YieldTo};
use leverframe::store::commands::resume::Resume;
use leverframe::store::commands::start_tool::StartToolOutcome;
use leverframe::store::input::NewCallOutcome;
use leverframe::store::queries::outbox::NextOutbox;

use crate::support::world::{START, World, by, call, gated};

#[tokio::test]
async fn a_started_call_is_settled_by_its_effect_class() {
    for effect in Effect::ALL.iter().copied() {
        let world = World::new().await;
        let (_, id) = world.running("chat").await;
        let new = call(effect, NewCallOutcome::Ready);
        let (call_id, digest) = (new.id, new.digest.clone());
        world.propose(id, vec![new]).await;
        world.start(call_id, &digest).await;
        let world = world.crash().await;
        let turn = world
            .store
            .read(move |reader| reader.turn(id))
            .await
            .unwrap();
        assert_eq!(turn.state, ContinuationState::Interrupted);
        assert_eq!(world.recovery.interrupted, [id]);
        let again = matches!(
            effect,
            Effect::ReadOnly | Effect::Idempotent | Effect::Keyed
        );
        let expected = if again {
            ToolCallState::Ready
        } else {
            ToolCallState::Indeterminate
        };
        assert_eq!(turn.calls[0].call.state, expected, "{effect}");
        assert_eq!(world.recovery.ready_again, u32::from(again), "{effect}");
        assert_eq!(
            world.recovery.resolve.len(),
            usize::from(!again),
            "{effect}"
        );
        world.sound().await;
    }
}

#[tokio::test]
async fn an_unknown_outcome_is_resolved_by_a_person() {
    for (word, expected) in [
        (DecisionKind::Happened, ToolCallState::SucceededByNote),
        (DecisionKind::RunAgain, ToolCallState::Ready),
        (DecisionKind::GiveUp, ToolCallState::Abandoned),
    ] {
        let world = World::new().await;
        let (session, id) = world.running("chat").await;
        let new = call(Effect::NonIdempotent, NewCallOutcome::Ready);
        let (call_id, digest) = (new.id, new.digest.clone());
        world.propose(id, vec![new]).await;
        world.start(call_id, &digest).await;
        let world = world.crash().await;
        world
            .ok(Resume {
                continuation_id: id,
                by: by("anna"),
            })
            .await;
        let turn = world
            .store
            .read(move |reader| reader.turn(id))
            .await
            .unwrap();
        assert_eq!(turn.state, ContinuationState::AwaitingApproval);
        let gate = turn.calls[0].call.approval_id.unwrap();
        let row = world
            .store
            .read(move |reader| reader.approval(gate))
            .await
            .unwrap();
        assert_eq!(row.kind, ApprovalKind::ResolveUnknown);
        // A second crash keeps the question and its id.
        let world = world.crash().await;
        let command = world.decide_command(gate, word, "anna").await;
        assert!(world.ok(command).await.resumed);
        let turn = world
            .store
            .read(move |reader| reader.turn(id))
            .await
            .unwrap();
        assert_eq!(turn.calls[0].call.state, expected);
        world.claim(session).await.unwrap();
        if word == DecisionKind::RunAgain {
            assert_eq!(
                world.start(call_id, &digest).await,
                StartToolOutcome::Started { attempt: 2 }
            );
            world.succeed(call_id, 2).await;
        }
        world.finish(id, 1).await;
        world.sound().await;
    }
}

/// A turn with a question, killed before or after it parked: the approval keeps its id, and the turn goes on with it.
async fn goes_on_with_its_approval(parks: bool) {
    let world = World::new().await;
    let (session, id) = world.running("chat").await;
    let (new, gate) = gated(Effect::NonIdempotent);
    let (call_id, digest) = (new.id, new.digest.clone());
    world.propose(id, vec![new]).await;
    if parks {
        world
            .ok(Park {
                continuation_id: id,
                epoch: world.epoch(),
                active_ms: 0,
                notices: Vec::new(),
            })
            .await;
    }
    let world = world.crash().await;
    assert!(world.recovery.interrupted.is_empty());
    let command = world
        .decide_command(gate, DecisionKind::Approve, "anna")
        .await;
    // One that had not parked is in line already.
    assert_eq!(world.ok(command).await.resumed, parks);
    assert_eq!(world.claim(session).await, Some(id));
    assert_eq!(
        world.start(call_id, &digest).await,
        StartToolOutcome::Started { attempt: 1 }
    );
    world.succeed(call_id, 1).await;
    world.finish(id, 1).await;
    world.sound().await;
}

#[tokio::test]
async fn a_gate_survives_a_crash_with_its_id() {
    goes_on_with_its_approval(true).await;
}

#[tokio::test]
async fn a_turn_that_died_before_it_parked_waits_for_its_approval() {
    goes_on_with_its_approval(false).await;
}

#[tokio::test]
async fn a_turn_with_more_than_a_question_is_interrupted() {
    let world = World::new().await;
    let (_, id) = world.running("chat").await;
    let (asks, _) = gated(Effect::NonIdempotent);
    let runs = call(Effect::ReadOnly, NewCallOutcome::Ready);
    world.propose(id, vec![runs, asks]).await;
    let world = world.crash().await;
    assert_eq!(world.recovery.interrupted, [id]);
    world.sound().await;
}

#[tokio::test]
async fn a_send_in_flight_is_unknown_where_it_cannot_repeat() {
    let native = |window_ms| SendIdempotency::NativeKey { window_ms };
    for (idempotency, expected) in [
        (SendIdempotency::None, OutboxState::Unknown),
        (SendIdempotency::Reconcile, OutboxState::Unknown),
        (native(Some(0)), OutboxState::Unknown),
        (native(Some(1)), OutboxState::Pending),
        (native(None), OutboxState::Pending),
    ] {
        let world = World::new().await;
        let (_, id) = world.running("chat").await;
        world.finish(id, 1).await;
        let next = world
            .store
            .read(|reader| reader.next_outbox("team", START))
            .await
            .unwrap();
        let NextOutbox::Row(row) = next else {
            panic!("nothing to send")
        };
        world
            .ok(BeginSend {
                outbox_id: row.id,
                epoch: world.epoch(),
                idempotency,
            })
            .await;
        let world = world.crash().await;
        let part = row.id;
        let item = world
            .store
            .read(move |reader| reader.delivery(part))
            .await
            .unwrap();
        assert_eq!(item.state, expected);
        world.sound().await;
        if expected == OutboxState::Unknown {
            assert_eq!(world.recovery.unknown_sends, [part]);
            let waiting = world
                .store
                .read(|reader| {
                    reader.approvals(
                        &leverframe::store::queries::approvals::ApprovalFilter::default(),
                        &leverframe::protocol::snapshot::PageRequest::default(),
                    )
                })
                .await
                .unwrap()
                .items;
            assert_eq!(waiting[0].kind, ApprovalKind::Resend);
            let command = world
                .decide_command(waiting[0].id, DecisionKind::SendAgain, "anna")
                .await;
            world.ok(command).await;
            let item = world
                .store
                .read(move |reader| reader.delivery(part))
                .await
                .unwrap();
            assert_eq!(item.state, OutboxState::Pending);
            world.sound().await;
        }
    }
}

#[tokio::test]
async fn a_model_call_in_flight_is_settled_at_its_estimate() {
    let world = World::new().await;
    let (_, id) = world.running("chat").await;
    world.model_step(id).await;
    let world = world.crash().await;
    let turn = world
        .store
        .read(move |reader| reader.continuation(id))
        .await
        .unwrap();
    assert_eq!(turn.usage.input_tokens, 500);
    assert_eq!(turn.usage.cost_usd, Some(0.05));
    world.sound().await;
}

#[tokio::test]
async fn recovery_twice_is_recovery_once() {
    let world = World::new().await;
    let (_, id) = world.running("chat").await;
    let new = call(Effect::NonIdempotent, NewCallOutcome::Ready);
    let (call_id, digest) = (new.id, new.digest.clone());
    world.propose(id, vec![new]).await;
    world.start(call_id, &digest).await;
    let world = world.crash().await;
    let first = world
        .store
        .read(move |reader| reader.turn(id))
        .await
        .unwrap();
    let world = world.crash().await;
    let second = world
        .store
        .read(move |reader| reader.turn(id))
        .await
        .unwrap();
    assert_eq!(first, second);
    assert_eq!(world.recovery.crashes_in_10_min, 2);
    assert!(world.recovery.interrupted.is_empty());
    world.sound().await;
}

#[tokio::test]
async fn a_stale_epoch_is_refused() {
    let world = World::new().await;
    let (_, id) = world.running("chat").await;
    let old = world.epoch();
    let world = world.crash().await;
    let what = world
        .illegal(Yield {
            continuation_id: id,
            epoch: old,
            to: YieldTo::Pending,
            reason: String::new(),
            active_ms: 0,
            partial: None,
        })
        .await;
    assert!(what.contains("stale epoch"), "{what}");
}

/// What an earlier process would still take after another one took the database over.
#[tokio::test]
async fn a_caller_of_an_earlier_epoch_takes_nothing() {
    let world = World::new().await;
    let taken = world.ingest("chat").await;
    let (session_id, id) = (taken.session_id.unwrap(), taken.continuation_id.unwrap());
    let old = world.epoch();
    let world = world.crash().await;
    let claimed = world
        .store
        .write(Claim {
            session_id,
            epoch: old,
            floods: leverframe::store::input::ChannelFloods::default(),
            except: Vec::new(),
        })
        .await;
    let continuation = world
        .store
        .read(move |reader| reader.continuation(id))
        .await
        .unwrap();
    assert_eq!(
        (continuation.state, claimed.is_err()),
        (ContinuationState::Pending, true),
        "a claim of epoch {old} in epoch {}",
        world.epoch()
    );
    world.sound().await;
}

#[tokio::test]
async fn numbers_rise_across_starts() {
    let world = World::new().await;
    world.ingest("chat").await;
    let before = world.store.last_seq();
    let world = world.restart().await;
    assert!(world.recovery.clean);
    assert_eq!(world.recovery.crashes_in_10_min, 0);
    world.ingest("chat").await;
    let after = world.store.last_seq();
    assert!(
        after > before && after >> 32 == world.epoch(),
        "{before} {after}"
    );
    world.sound().await;
}
