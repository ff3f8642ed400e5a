//! What a copy makes of everything that was open when it was made, row by row.

use leverframe::protocol::enums::{
    ApprovalKind, ApprovalState, DecisionKind, Effect, OutboxClass, OutboxState, ToolCallState,
};
use leverframe::protocol::snapshot::PageRequest;
use leverframe::store::Store;
use leverframe::store::check::check;
use leverframe::store::commands::park::Park;
use leverframe::store::commands::queue_notice::QueueNotice;
use leverframe::store::input::{NewCallOutcome, NewNotice};
use leverframe::store::queries::approvals::ApprovalFilter;
use leverframe::store::queries::outbox::OutboxFilter;
use leverframe::store::queries::uncertain::Recovered;

use crate::support::world::{World, call, gated, options};

/// I20: nothing that was about to leave or to run does so in a copy before a person was asked.
#[tokio::test]
async fn everything_that_was_open_in_a_copy_is_asked_about() {
    let world = World::new().await;
    // Approved and not used.
    let (_, approved_turn) = world.running("approved").await;
    let (approved_call, approval) = gated(Effect::NonIdempotent);
    let approved_id = approved_call.id;
    world.propose(approved_turn, vec![approved_call]).await;
    world
        .ok(Park {
            continuation_id: approved_turn,
            epoch: world.epoch(),
            active_ms: 0,
            notices: Vec::new(),
        })
        .await;
    let decide = world
        .decide_command(approval, DecisionKind::Approve, "anna")
        .await;
    world.ok(decide).await;
    // About to run without asking; one harmless, one not.
    let (_, ready_turn) = world.running("ready").await;
    let writes = call(Effect::NonIdempotent, NewCallOutcome::Ready);
    let reads = call(Effect::ReadOnly, NewCallOutcome::Ready);
    let (writes_id, reads_id) = (writes.id, reads.id);
    world.propose(ready_turn, vec![writes, reads]).await;
    // Running.
    let (_, started_turn) = world.running("started").await;
    let sends = call(Effect::NonIdempotent, NewCallOutcome::Ready);
    let (sends_id, digest) = (sends.id, sends.digest.clone());
    world.propose(started_turn, vec![sends]).await;
    world.start(sends_id, &digest).await;
    // Waiting to be sent: an answer, and what only decorates the screen.
    let (_, answered) = world.running("chat").await;
    world.finish(answered, 2).await;
    world
        .ok(QueueNotice {
            notice: NewNotice {
                channel: "team".to_owned(),
                conversation: "chat".to_owned(),
                class: OutboxClass::Progress,
                text: "working".to_owned(),
                reply_to: None,
                continuation_id: None,
            },
        })
        .await;
    let queued = world
        .store
        .read(|reader| reader.outbox(&OutboxFilter::default(), &PageRequest::default()))
        .await
        .unwrap()
        .items;
    let decorates = |item: &leverframe::protocol::session::OutboxItem| {
        matches!(
            item.class,
            OutboxClass::Progress | OutboxClass::CardUpdate | OutboxClass::ApprovalCard
        )
    };
    let waits: Vec<_> = queued
        .iter()
        .filter(|item| item.state == OutboxState::Pending && !decorates(item))
        .map(|item| item.id)
        .collect();
    assert!(waits.len() >= 2, "{queued:#?}");

    let copy = tempfile::tempdir().unwrap();
    let target = copy.path().join("leverframe.db");
    let text = target.to_string_lossy().into_owned();
    world
        .store
        .with_writer(move |conn| conn.execute("VACUUM INTO ?1", [text]).unwrap())
        .await
        .unwrap();
    for start in ["first", "second"] {
        let opened = Store::open(options(copy.path(), &world.clock)).unwrap();
        assert!(opened.recovery.quarantine, "{start} start");
        if start == "first" {
            let mut unknown = opened.recovery.unknown_sends.clone();
            let mut wanted = waits.clone();
            unknown.sort();
            wanted.sort();
            assert_eq!(unknown, wanted);
        } else {
            assert!(opened.recovery.unknown_sends.is_empty());
        }
        let now = world.clock.now();
        let (broken, approvals, outbox, calls, uncertain) = opened
            .store
            .read(move |reader| {
                let state = |turn, id| {
                    reader.continuation(turn).map(|turn| {
                        turn.tool_calls
                            .iter()
                            .find(|call| call.id == id)
                            .map(|call| call.state)
                            .unwrap()
                    })
                };
                Ok((
                    check(reader)?,
                    reader
                        .approvals(
                            &ApprovalFilter {
                                state: Some(ApprovalState::Pending),
                            },
                            &PageRequest::default(),
                        )?
                        .items,
                    reader
                        .outbox(&OutboxFilter::default(), &PageRequest::default())?
                        .items,
                    [
                        state(approved_turn, approved_id)?,
                        state(ready_turn, writes_id)?,
                        state(ready_turn, reads_id)?,
                        state(started_turn, sends_id)?,
                    ],
                    reader.uncertain(now, Recovered::Yes)?,
                ))
            })
            .await
            .unwrap();
        assert_eq!(broken, []);
        assert_eq!(
            calls,
            [
                ToolCallState::Awaiting,
                ToolCallState::Awaiting,
                ToolCallState::Ready,
                ToolCallState::Indeterminate
            ]
        );
        for item in &outbox {
            let state = if waits.contains(&item.id) {
                OutboxState::Unknown
            } else {
                OutboxState::Superseded
            };
            assert_eq!(item.state, state, "{item:#?}");
        }
        let kinds = |kind| approvals.iter().filter(|a| a.kind == kind).count();
        assert_eq!(kinds(ApprovalKind::Execute), 2, "{approvals:#?}");
        assert_eq!(kinds(ApprovalKind::ResolveUnknown), 1);
        assert_eq!(kinds(ApprovalKind::Resend), waits.len());
        let again = approvals.iter().find(|a| a.id == approval).unwrap();
        assert_eq!(again.revision, 2, "what was shown before decides nothing");
        assert!(again.question.as_ref().unwrap().contains("may have run"));
        assert_eq!(uncertain.totals.deliveries, waits.len() as u64);
        assert_eq!(uncertain.totals.calls, 1);
        assert_eq!(uncertain.totals.turns, 3);
        assert_eq!(uncertain.conversations.len(), 3);
        assert!(uncertain.quarantine && uncertain.asks());
        opened.store.close().await;
    }
    world.sound().await;
}
