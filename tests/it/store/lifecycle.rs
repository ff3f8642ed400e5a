//! A turn from message to reply, and what each command refuses.

use leverframe::protocol::channel::SendIdempotency;
use leverframe::protocol::enums::{
    ContinuationState, Disposition, Effect, OutboxState, ToolCallState,
};
use leverframe::protocol::event::EventBody;
use leverframe::store::EventsAfter;
use leverframe::store::commands::begin_send::BeginSend;
use leverframe::store::commands::cancel::Cancel;
use leverframe::store::commands::end_send::{EndSend, SendOutcome};
use leverframe::store::commands::park::{Park, ParkOutcome};
use leverframe::store::commands::start_tool::StartToolOutcome;
use leverframe::store::error::StoreError;
use leverframe::store::input::{NewCallOutcome, SessionChoice};
use leverframe::store::queries::outbox::NextOutbox;

use crate::support::world::{START, World, by, call, gated, turn};

#[tokio::test]
async fn a_plain_turn_writes_six_events_and_completes() {
    let world = World::new().await;
    let before = world.store.last_seq();
    let outcome = world.ingest("chat").await;
    let session = outcome.session_id.unwrap();
    let id = world.claim(session).await.unwrap();
    world.finish(id, 1).await;
    let next = world
        .store
        .read(|reader| reader.next_outbox("team", START))
        .await
        .unwrap();
    let NextOutbox::Row(row) = next else {
        panic!("nothing to send: {next:?}");
    };
    world
        .ok(BeginSend {
            outbox_id: row.id,
            epoch: world.epoch(),
            idempotency: SendIdempotency::None,
        })
        .await;
    world
        .ok(EndSend {
            outbox_id: row.id,
            epoch: world.epoch(),
            outcome: SendOutcome::Sent {
                refs: vec!["m1".to_owned()],
            },
            resend: None,
        })
        .await;
    let EventsAfter::Events(events) = world.store.events_after(before, 100).await.unwrap() else {
        panic!("the log was reset");
    };
    let kinds: Vec<&str> = events.iter().map(|event| event.body.kind()).collect();
    assert_eq!(
        kinds,
        [
            "session.started",
            "message.received",
            "continuation.started",
            "model.finished",
            "continuation.completed",
            "reply.queued",
            "reply.sent"
        ]
    );
    let turn = world
        .store
        .read(move |reader| reader.continuation(id))
        .await
        .unwrap();
    assert_eq!(turn.state, ContinuationState::Completed);
    assert_eq!(turn.response.unwrap().text, "twenty chars of text");
    assert_eq!(turn.usage.input_tokens, 100);
    let session = world
        .store
        .read(move |reader| reader.session(session))
        .await
        .unwrap();
    assert_eq!(session.usage.cost_usd, Some(0.01));
    assert_eq!(session.open_continuation, None);
    world.sound().await;
}

#[tokio::test]
async fn a_plain_turn_costs_at_most_three_kilobytes() {
    let world = World::new().await;
    let turns = 200_u64;
    let size = |world: &World| {
        let store = world.store.clone();
        async move {
            store
                .with_writer(|conn| {
                    conn.query_row(
                        "SELECT (SELECT page_count FROM pragma_page_count) * (SELECT page_size FROM pragma_page_size)",
                        [],
                        |row| row.get::<_, u64>(0),
                    )
                    .unwrap()
                })
                .await
                .unwrap()
        }
    };
    let session = world.ingest("chat").await.session_id.unwrap();
    let id = world.claim(session).await.unwrap();
    world.finish(id, 1).await;
    let before = size(&world).await;
    for n in 0..turns {
        let mut message = turn("chat", Some(&format!("update-{n}")));
        message.text = "twenty chars of text".to_owned();
        world.ok(message).await;
        let id = world.claim(session).await.unwrap();
        world.finish(id, 1).await;
    }
    let each = (size(&world).await - before) / turns;
    assert!(each <= 3072, "{each} bytes a turn");
}

#[tokio::test]
async fn a_key_is_taken_in_once() {
    let world = World::new().await;
    let first = world.ok(turn("chat", Some("k"))).await;
    let again = world.ok(turn("chat", Some("k"))).await;
    assert!(again.repeated && !first.repeated);
    assert_eq!(again.continuation_id, first.continuation_id);
    assert_eq!(again.inbox_id, first.inbox_id);
    let mut other = turn("chat", Some("k"));
    other.origin.body_digest = [8; 32];
    assert!(matches!(
        world.store.write(other).await,
        Err(StoreError::KeyConflict)
    ));
    // The scope of a key is its principal.
    let mut elsewhere = turn("chat", Some("k"));
    elsewhere.origin.principal = "somebody else".to_owned();
    assert!(!world.ok(elsewhere).await.repeated);
    world.sound().await;
}

#[tokio::test]
async fn the_queue_is_bounded_unless_held() {
    let world = World::new().await;
    for _ in 0..2 {
        let mut message = turn("chat", None);
        message.max_queue = 2;
        assert_eq!(world.ok(message).await.disposition, Disposition::Turn);
    }
    let mut third = turn("chat", None);
    third.max_queue = 2;
    assert_eq!(world.ok(third).await.disposition, Disposition::QueueFull);
    let mut held = turn("chat", None);
    held.max_queue = 2;
    held.unlimited_queue = true;
    assert_eq!(world.ok(held).await.disposition, Disposition::Turn);
}

#[tokio::test]
async fn one_continuation_of_a_session_runs_at_a_time() {
    let world = World::new().await;
    let (session, first) = world.running("chat").await;
    let second = world.ingest("chat").await.continuation_id.unwrap();
    assert_eq!(world.claim(session).await, None);
    world.finish(first, 0).await;
    assert_eq!(world.claim(session).await, Some(second));
}

#[tokio::test]
async fn a_gated_call_runs_only_after_its_decision() {
    let world = World::new().await;
    let (session, id) = world.running("chat").await;
    let (call, approval) = gated(Effect::NonIdempotent);
    let (call_id, digest) = (call.id, call.digest.clone());
    world.propose(id, vec![call]).await;
    assert_eq!(
        world.start(call_id, &digest).await,
        StartToolOutcome::NotStartable(ToolCallState::Awaiting)
    );
    let parked = world
        .ok(Park {
            continuation_id: id,
            epoch: world.epoch(),
            active_ms: 1,
            notices: Vec::new(),
        })
        .await;
    assert_eq!(parked, ParkOutcome::Waiting);
    world.sound().await;
    let command = world
        .decide_command(
            approval,
            leverframe::protocol::enums::DecisionKind::Approve,
            "anna",
        )
        .await;
    let report = world.ok(command).await;
    assert!(report.resumed);
    assert_eq!(world.claim(session).await, Some(id));
    assert_eq!(
        world.start(call_id, "another plan").await,
        StartToolOutcome::DigestMismatch
    );
    assert_eq!(
        world.start(call_id, &digest).await,
        StartToolOutcome::Started { attempt: 1 }
    );
    world.succeed(call_id, 1).await;
    world.finish(id, 1).await;
    world.sound().await;
    let why = world
        .store
        .read(move |reader| reader.why_rows(call_id))
        .await
        .unwrap();
    assert_eq!(why.attempts.len(), 1);
    assert_eq!(why.call.result.as_deref(), Some("done"));
    assert_eq!(why.approvals[0].decision.as_ref().unwrap().by, "anna");
}

#[tokio::test]
async fn an_old_decision_goes_back_to_the_person() {
    let world = World::new().await;
    let (session, id) = world.running("chat").await;
    let (call, approval) = gated(Effect::NonIdempotent);
    let (call_id, digest) = (call.id, call.digest.clone());
    world.propose(id, vec![call]).await;
    world
        .ok(Park {
            continuation_id: id,
            epoch: world.epoch(),
            active_ms: 0,
            notices: Vec::new(),
        })
        .await;
    let approve = leverframe::protocol::enums::DecisionKind::Approve;
    let command = world.decide_command(approval, approve, "anna").await;
    world.ok(command).await;
    world.clock.advance_millis(60_001);
    world.claim(session).await.unwrap();
    assert_eq!(
        world.start(call_id, &digest).await,
        StartToolOutcome::DecisionTooOld
    );
    let row = world
        .store
        .read(move |reader| reader.approval(approval))
        .await
        .unwrap();
    assert_eq!(row.revision, 2);
    assert_eq!(row.decision, None);
    world.sound().await;
}

#[tokio::test]
async fn parts_go_out_in_order() {
    let world = World::new().await;
    let (_, id) = world.running("chat").await;
    world.finish(id, 2).await;
    let items = world
        .store
        .read(|reader| {
            reader.outbox(
                &leverframe::store::queries::outbox::OutboxFilter::default(),
                &leverframe::protocol::snapshot::PageRequest::default(),
            )
        })
        .await
        .unwrap()
        .items;
    let second = items.iter().find(|item| item.part == 2).unwrap().id;
    let what = world
        .illegal(BeginSend {
            outbox_id: second,
            epoch: world.epoch(),
            idempotency: SendIdempotency::None,
        })
        .await;
    assert!(what.contains(&second.to_string()), "{what}");
    let first = items.iter().find(|item| item.part == 1).unwrap().id;
    world
        .ok(BeginSend {
            outbox_id: first,
            epoch: world.epoch(),
            idempotency: SendIdempotency::None,
        })
        .await;
    let later = START.plus_seconds(5);
    world
        .ok(EndSend {
            outbox_id: first,
            epoch: world.epoch(),
            outcome: SendOutcome::Retry {
                not_before: later,
                error: "429".to_owned(),
            },
            resend: None,
        })
        .await;
    let next = world
        .store
        .read(|reader| reader.next_outbox("team", START))
        .await
        .unwrap();
    assert_eq!(next, NextOutbox::Wait(later));
}

#[tokio::test]
async fn a_cancel_closes_what_is_open_and_is_final() {
    let world = World::new().await;
    let (_, id) = world.running("chat").await;
    let (asking, approval) = gated(Effect::NonIdempotent);
    let ready = call(Effect::ReadOnly, NewCallOutcome::Ready);
    let (ready_id, digest) = (ready.id, ready.digest.clone());
    world.propose(id, vec![ready, asking]).await;
    world.start(ready_id, &digest).await;
    let cancelled = world
        .ok(Cancel {
            continuation_id: id,
            by: by("anna"),
            reason: Some("enough".to_owned()),
            notices: Vec::new(),
            under_way: None,
        })
        .await;
    assert_eq!(cancelled.started_calls, [ready_id]);
    // The killed tool still reports; nothing is added to the continuation.
    world.succeed(ready_id, 1).await;
    world.sound().await;
    let again = Cancel {
        continuation_id: id,
        by: by("anna"),
        reason: None,
        notices: Vec::new(),
        under_way: None,
    };
    let what = world.illegal(again).await;
    assert!(what.contains("from cancelled to cancelled"), "{what}");
    let row = world
        .store
        .read(move |reader| reader.approval(approval))
        .await
        .unwrap();
    assert_eq!(row.state.as_str(), "revoked");
    let card = world
        .store
        .read(|reader| {
            reader.outbox(
                &leverframe::store::queries::outbox::OutboxFilter {
                    state: Some(OutboxState::Superseded),
                },
                &leverframe::protocol::snapshot::PageRequest::default(),
            )
        })
        .await
        .unwrap();
    assert_eq!(card.items.len(), 1);
}

#[tokio::test]
async fn a_temporary_session_ends_with_its_turn() {
    let world = World::new().await;
    let mut message = turn("once", None);
    message.session = SessionChoice::Temporary;
    let session = world.ok(message).await.session_id.unwrap();
    let id = world.claim(session).await.unwrap();
    world.finish(id, 0).await;
    let row = world
        .store
        .read(move |reader| reader.session(session))
        .await
        .unwrap();
    assert_eq!(row.state.as_str(), "ended");
}

#[tokio::test]
async fn published_approval_events_carry_the_body_and_stored_ones_do_not() {
    let world = World::new().await;
    let mut live = world.store.subscribe();
    let before = world.store.last_seq();
    let (_, id) = world.running("chat").await;
    let (call, approval) = gated(Effect::NonIdempotent);
    world.propose(id, vec![call]).await;
    let mut seen = None;
    while let Ok(event) = live.try_recv() {
        if let EventBody::ApprovalRequested { approval } = &event.body {
            seen = Some((**approval).clone());
        }
    }
    assert_eq!(seen.map(|seen| seen.id), Some(approval));
    let body: String = world
        .store
        .with_writer(|conn| {
            conn.query_row(
                "SELECT body FROM events WHERE body LIKE '{\"kind\":\"approval.%'",
                [],
                |row| row.get(0),
            )
            .unwrap()
        })
        .await
        .unwrap();
    assert!(body.len() < 160, "{body}");
    let EventsAfter::Events(events) = world.store.events_after(before, 100).await.unwrap() else {
        panic!("the log was reset");
    };
    assert!(events.iter().any(|event| matches!(
        &event.body,
        EventBody::ApprovalRequested { approval: stored } if stored.id == approval && stored.tool == "write_file"
    )));
}
