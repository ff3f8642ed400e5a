//! What the class of a message means when it could not be delivered at once, told by the store under a clock that
//! stands still.

use leverframe::protocol::approval::Approval;
use leverframe::protocol::channel::SendIdempotency;
use leverframe::protocol::enums::Effect;
use leverframe::protocol::enums::{
    ApprovalKind, ApprovalState, DecisionKind, OutboxClass, OutboxState,
};
use leverframe::protocol::ids::{ContinuationId, OutboxId};
use leverframe::protocol::session::OutboxItem;
use leverframe::protocol::snapshot::PageRequest;
use leverframe::store::commands::begin_send::{BeginSend, BeginSendOutcome};
use leverframe::store::commands::drop_expired_notice::DropExpiredNotice;
use leverframe::store::commands::end_look_up::{EndLookUp, LookUpResult};
use leverframe::store::commands::end_send::{EndSend, SendOutcome};
use leverframe::store::commands::queue_notice::QueueNotice;
use leverframe::store::input::{NewCallOutcome, NewNotice};
use leverframe::store::queries::approvals::ApprovalFilter;
use leverframe::store::queries::outbox::{NextOutbox, OutboxFilter};

use crate::support::world::{World, approval, call};

const HOUR_MS: i64 = 3_600_000;

async fn items(world: &World) -> Vec<OutboxItem> {
    let mut items = world
        .store
        .read(|reader| reader.outbox(&OutboxFilter::default(), &PageRequest::default()))
        .await
        .unwrap()
        .items;
    items.reverse();
    items
}

pub async fn states(world: &World) -> Vec<OutboxState> {
    items(world).await.iter().map(|item| item.state).collect()
}

async fn asked(world: &World) -> Vec<Approval> {
    world
        .store
        .read(|reader| reader.approvals(&ApprovalFilter::default(), &PageRequest::default()))
        .await
        .unwrap()
        .items
        .into_iter()
        .filter(|item| item.kind == ApprovalKind::Resend)
        .collect()
}

pub async fn notice(
    world: &World,
    class: OutboxClass,
    continuation: Option<ContinuationId>,
) -> OutboxId {
    world
        .ok(QueueNotice {
            notice: NewNotice {
                channel: "team".to_owned(),
                conversation: "chat".to_owned(),
                class,
                text: "a word".to_owned(),
                reply_to: None,
                continuation_id: continuation,
            },
        })
        .await
        .unwrap()
}

async fn begin(world: &World, id: OutboxId, idempotency: SendIdempotency) -> BeginSendOutcome {
    world
        .ok(BeginSend {
            outbox_id: id,
            epoch: world.epoch(),
            idempotency,
        })
        .await
}

async fn end(world: &World, id: OutboxId, outcome: SendOutcome) {
    world
        .ok(EndSend {
            outbox_id: id,
            epoch: world.epoch(),
            outcome,
            resend: None,
        })
        .await;
}

fn lost() -> SendOutcome {
    SendOutcome::Unknown {
        detail: "no answer".to_owned(),
    }
}

#[tokio::test]
async fn an_answer_older_than_six_hours_is_asked_about_and_not_delivered_by_itself() {
    for (age_ms, old) in [(6 * HOUR_MS, false), (6 * HOUR_MS + 1, true)] {
        let world = World::new().await;
        let (_, id) = world.running("chat").await;
        world.finish(id, 2).await;
        world.clock.advance_millis(age_ms);
        let world = world.crash().await;
        if !old {
            assert_eq!(states(&world).await, [OutboxState::Pending; 2]);
            assert!(world.recovery.old_answers.is_empty());
            continue;
        }
        assert_eq!(states(&world).await, [OutboxState::Unknown; 2]);
        assert_eq!(world.recovery.old_answers.len(), 2);
        let questions = asked(&world).await;
        assert_eq!(questions.len(), 2, "{questions:#?}");
        for question in &questions {
            // It never left, so nobody is offered to say that it arrived.
            assert_eq!(
                question.offered,
                [DecisionKind::SendAgain, DecisionKind::Drop]
            );
            let command = world
                .decide_command(question.id, DecisionKind::SendAgain, "anna")
                .await;
            world.ok(command).await;
        }
        assert_eq!(states(&world).await, [OutboxState::Pending; 2]);
        // A person's word is not asked for twice.
        let world = world.crash().await;
        assert_eq!(states(&world).await, [OutboxState::Pending; 2]);
        world.sound().await;
    }
}

#[tokio::test]
async fn cards_and_notices_are_never_dropped_and_never_too_old() {
    let world = World::new().await;
    let (_, id) = world.running("chat").await;
    let mut question = approval(ApprovalKind::Execute, "digest");
    question.expires_at = None;
    world
        .propose(
            id,
            vec![call(Effect::NonIdempotent, NewCallOutcome::Ask(question))],
        )
        .await;
    notice(&world, OutboxClass::Notice, Some(id)).await;
    world.clock.advance_millis(48 * HOUR_MS);
    let world = world.crash().await;
    let kept: Vec<_> = items(&world)
        .await
        .iter()
        .map(|item| (item.class, item.state))
        .collect();
    assert_eq!(
        kept,
        [
            (OutboxClass::ApprovalCard, OutboxState::Pending),
            (OutboxClass::Notice, OutboxState::Pending)
        ]
    );
    for item in items(&world).await {
        let stale = DropExpiredNotice { outbox_id: item.id };
        assert!(!world.ok(stale).await, "{} was dropped", item.class);
    }
    world.sound().await;
}

#[tokio::test]
async fn a_word_about_progress_is_dropped_after_a_minute_or_with_its_answer() {
    let world = World::new().await;
    let (_, id) = world.running("chat").await;
    let word = notice(&world, OutboxClass::Progress, Some(id)).await;
    world.clock.advance_millis(60_000);
    assert!(!world.ok(DropExpiredNotice { outbox_id: word }).await);
    world.clock.advance_millis(1);
    assert!(world.ok(DropExpiredNotice { outbox_id: word }).await);
    assert_eq!(states(&world).await, [OutboxState::Superseded]);

    notice(&world, OutboxClass::Progress, Some(id)).await;
    notice(&world, OutboxClass::Notice, Some(id)).await;
    world.finish(id, 1).await;
    assert_eq!(
        states(&world).await,
        [
            OutboxState::Superseded,
            OutboxState::Superseded,
            OutboxState::Pending,
            OutboxState::Pending
        ]
    );
    // One that is being sent when its process dies is dropped too: nobody needs it any more.
    let world = World::new().await;
    let (_, id) = world.running("chat").await;
    let word = notice(&world, OutboxClass::Progress, Some(id)).await;
    begin(&world, word, SendIdempotency::None).await;
    let world = world.crash().await;
    assert_eq!(states(&world).await, [OutboxState::Superseded]);
    world.sound().await;
    // So is one whose platform gave no answer, and nobody is asked about it.
    let world = World::new().await;
    let (_, id) = world.running("chat").await;
    let word = notice(&world, OutboxClass::Progress, Some(id)).await;
    begin(&world, word, SendIdempotency::None).await;
    end(&world, word, lost()).await;
    assert_eq!(states(&world).await, [OutboxState::Superseded]);
    assert!(asked(&world).await.is_empty());
    world.sound().await;
}

/// An answer of one part whose only send was begun with this offered.
async fn begun(idempotency: SendIdempotency) -> (World, OutboxId) {
    let world = World::new().await;
    let (_, id) = world.running("chat").await;
    world.finish(id, 1).await;
    let part = items(&world).await[0].id;
    assert_eq!(
        begin(&world, part, idempotency).await,
        BeginSendOutcome::Begun
    );
    (world, part)
}

#[tokio::test]
async fn an_unknown_end_is_repeated_within_the_window_of_the_first_send_only() {
    let native = SendIdempotency::NativeKey {
        window_ms: Some(10_000),
    };
    let (world, part) = begun(native).await;
    world.clock.advance_millis(4_000);
    end(&world, part, lost()).await;
    assert_eq!(states(&world).await, [OutboxState::Pending]);
    // Not at once: the platform just failed to answer.
    let now = world.clock.now();
    let next = world
        .store
        .read(move |reader| reader.next_outbox("team", now))
        .await
        .unwrap();
    assert_eq!(next, NextOutbox::Wait(now.plus_seconds(1)));
    world.clock.advance_millis(4_000);
    assert_eq!(begin(&world, part, native).await, BeginSendOutcome::Begun);
    // Eleven seconds after the first send, three after the second.
    world.clock.advance_millis(3_000);
    let world = world.crash().await;
    assert_eq!(states(&world).await, [OutboxState::Unknown]);
    assert_eq!(asked(&world).await.len(), 1);
    world.sound().await;
}

#[tokio::test]
async fn a_key_that_runs_out_while_the_part_waits_is_asked_about() {
    let native = SendIdempotency::NativeKey {
        window_ms: Some(10_000),
    };
    let (world, part) = begun(native).await;
    let world = world.crash().await;
    assert_eq!(states(&world).await, [OutboxState::Pending]);
    // Held, paused or not connected.
    world.clock.advance_millis(10_000);
    assert_eq!(
        begin(&world, part, native).await,
        BeginSendOutcome::KeyRanOut
    );
    assert_eq!(states(&world).await, [OutboxState::Unknown]);
    let question = asked(&world).await.remove(0);
    let command = world
        .decide_command(question.id, DecisionKind::SendAgain, "anna")
        .await;
    world.ok(command).await;
    // A person's word begins anew.
    assert_eq!(begin(&world, part, native).await, BeginSendOutcome::Begun);
    world.sound().await;
}

#[tokio::test]
async fn a_send_that_certainly_failed_is_simply_tried_again() {
    let (world, part) = begun(SendIdempotency::None).await;
    for _ in 0..3 {
        let retry = SendOutcome::Retry {
            not_before: world.clock.now(),
            error: "refused".to_owned(),
        };
        end(&world, part, retry).await;
        assert_eq!(
            begin(&world, part, SendIdempotency::None).await,
            BeginSendOutcome::Begun
        );
    }
    assert!(asked(&world).await.is_empty());
    world.sound().await;
}

#[tokio::test]
async fn a_look_settles_what_it_looked_at_and_nothing_else() {
    let (world, part) = begun(SendIdempotency::Reconcile).await;
    let world = world.crash().await;
    assert_eq!(states(&world).await, [OutboxState::Unknown]);
    let look = |attempt, found| EndLookUp {
        outbox_id: part,
        attempt,
        found,
    };
    // Of another send than the last.
    world.ok(look(2, LookUpResult::NotSent)).await;
    assert_eq!(states(&world).await, [OutboxState::Unknown]);
    world.ok(look(1, LookUpResult::NotSent)).await;
    assert_eq!(states(&world).await, [OutboxState::Pending]);
    assert_eq!(asked(&world).await[0].state, ApprovalState::Consumed);
    // Too late: it is about to be sent again.
    let refs = vec!["m1".to_owned()];
    world.ok(look(1, LookUpResult::Sent { refs })).await;
    assert_eq!(states(&world).await, [OutboxState::Pending]);
    world.sound().await;
}

#[tokio::test]
async fn a_look_does_not_deliver_an_old_answer() {
    let (world, part) = begun(SendIdempotency::Reconcile).await;
    world.clock.advance_millis(7 * HOUR_MS);
    let world = world.crash().await;
    world
        .ok(EndLookUp {
            outbox_id: part,
            attempt: 1,
            found: LookUpResult::NotSent,
        })
        .await;
    assert_eq!(states(&world).await, [OutboxState::Unknown]);
    let question = asked(&world).await.remove(0);
    assert_eq!(question.state, ApprovalState::Pending);
    let text = question.question.unwrap();
    assert!(text.contains("did not arrive; it is 7 h old"), "{text}");
    world.sound().await;
}
