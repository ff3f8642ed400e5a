//! A part in the hands of a bridge: only one holds it, and one that is let go of is handed out again or settled.

use std::collections::HashMap;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use leverframe::client::channel_port::{ChannelPort, Lease};
use leverframe::engine::core::Engine;
use leverframe::protocol::bridge::SendOutcome;
use leverframe::protocol::channel::{ChannelCapabilities, LengthUnit, SendIdempotency};
use leverframe::protocol::enums::{ApprovalKind, OutboxClass, OutboxState};
use leverframe::runtime::channel_handle::ChannelHandle;
use leverframe::store::commands::queue_notice::QueueNotice;
use leverframe::store::input::NewNotice;
use leverframe::store::queries::approvals::ApprovalFilter;
use tokio::sync::oneshot;

use crate::deliveries::classes::{notice, states};
use crate::support::daemon::DEADLINE;
use crate::support::world::World;

const KEYS: SendIdempotency = SendIdempotency::NativeKey { window_ms: None };

fn port(engine: &Engine, idempotency: SendIdempotency) -> ChannelHandle {
    let port = ChannelHandle::new(engine.clone(), "team".to_owned());
    port.set_capabilities(ChannelCapabilities {
        max_length: 1_000,
        unit: LengthUnit::Chars,
        edits: false,
        buttons: false,
        typing: false,
        idempotency,
    });
    port
}

async fn next(port: &ChannelHandle) -> Box<dyn Lease> {
    tokio::time::timeout(DEADLINE, port.next())
        .await
        .expect("a part is handed out")
        .expect("the outbox is read")
}

async fn wait_states(world: &World, wanted: &[OutboxState]) {
    let deadline = Instant::now() + DEADLINE;
    loop {
        let now = states(world).await;
        if now == wanted {
            return;
        }
        assert!(Instant::now() < deadline, "{now:?}, not {wanted:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn resend_questions(world: &World) -> usize {
    let filter = ApprovalFilter::default();
    let page = world
        .store
        .read(move |reader| {
            reader.approvals(
                &filter,
                &leverframe::protocol::snapshot::PageRequest::default(),
            )
        })
        .await
        .unwrap();
    let items = page.items.iter();
    items
        .filter(|item| item.kind == ApprovalKind::Resend)
        .count()
}

#[tokio::test]
async fn a_part_has_one_holder_and_is_handed_out_again_when_it_is_let_go() {
    let world = World::new().await;
    let (_, first) = world.running("chat").await;
    world.finish(first, 2).await;
    let elsewhere = NewNotice {
        channel: "team".to_owned(),
        conversation: "hall".to_owned(),
        class: OutboxClass::Notice,
        text: "a word".to_owned(),
        reply_to: None,
        continuation_id: None,
    };
    world.ok(QueueNotice { notice: elsewhere }).await;
    let engine = world.engine("");
    let port = port(&engine, SendIdempotency::None);

    let held = next(&port).await;
    let other = next(&port).await;
    assert_eq!(held.part().conversation, "chat");
    assert_eq!(other.part().conversation, "hall", "the same part twice");
    let id = held.part().id;
    drop(held);
    let mut again = next(&port).await;
    assert_eq!(again.part().id, id, "the first part goes first");
    assert_eq!(again.part().attempts, 0, "it was never begun");

    again.begin().await.unwrap();
    let external_refs = vec!["m1".to_owned()];
    again
        .finish(SendOutcome::Sent { external_refs })
        .await
        .unwrap();
    drop(again);
    let behind = next(&port).await;
    assert_eq!(behind.part().conversation, "chat");
    assert_ne!(behind.part().id, id);
    drop((behind, other));
    let pending = OutboxState::Pending;
    wait_states(&world, &[OutboxState::Sent, pending, pending]).await;
    engine.stop().await;
    world.sound().await;
}

#[tokio::test]
async fn a_send_has_a_beginning_before_its_end_and_only_one() {
    let world = World::new().await;
    let (_, id) = world.running("chat").await;
    world.finish(id, 1).await;
    let engine = world.engine("");
    let port = port(&engine, SendIdempotency::None);
    let mut lease = next(&port).await;
    let sent = || SendOutcome::Sent {
        external_refs: vec!["m1".to_owned()],
    };
    lease.finish(sent()).await.unwrap_err();
    assert_eq!(states(&world).await, [OutboxState::Pending]);
    lease.begin().await.unwrap();
    lease.begin().await.unwrap_err();
    lease.finish(sent()).await.unwrap();
    lease.finish(sent()).await.unwrap_err();
    assert_eq!(states(&world).await, [OutboxState::Sent]);
    drop(lease);
    engine.stop().await;
    assert_eq!(states(&world).await, [OutboxState::Sent]);
    world.sound().await;
}

#[tokio::test]
async fn a_send_that_is_let_go_is_settled_as_after_a_crash() {
    for (offers, state) in [
        (SendIdempotency::None, OutboxState::Unknown),
        (SendIdempotency::Reconcile, OutboxState::Unknown),
        (KEYS, OutboxState::Pending),
    ] {
        let world = World::new().await;
        let (_, id) = world.running("chat").await;
        world.finish(id, 1).await;
        let engine = world.engine("");
        let port = port(&engine, offers);
        let mut lease = next(&port).await;
        let part = lease.part().clone();
        lease.begin().await.unwrap();
        wait_states(&world, &[OutboxState::Sending]).await;
        drop(lease);
        wait_states(&world, &[state]).await;
        match offers {
            SendIdempotency::None => {}
            SendIdempotency::Reconcile => {
                let before = HashMap::new();
                let asked = port.next_look_up(&before);
                let asked = tokio::time::timeout(DEADLINE, asked).await.unwrap();
                assert_eq!(asked.unwrap().id, part.id, "the platform is asked");
            }
            SendIdempotency::NativeKey { .. } => {
                let again = next(&port).await;
                assert_eq!(again.part().id, part.id);
                assert_eq!(again.part().idempotency_key, part.idempotency_key);
            }
        }
        let questions = usize::from(state == OutboxState::Unknown);
        assert_eq!(resend_questions(&world).await, questions, "{offers:?}");
        engine.stop().await;
        world.sound().await;
    }
}

#[tokio::test]
async fn a_word_about_progress_that_is_let_go_is_dropped() {
    let world = World::new().await;
    let (_, id) = world.running("chat").await;
    notice(&world, OutboxClass::Progress, Some(id)).await;
    let engine = world.engine("");
    let port = port(&engine, SendIdempotency::None);
    let mut lease = next(&port).await;
    lease.begin().await.unwrap();
    drop(lease);
    wait_states(&world, &[OutboxState::Superseded]).await;
    assert_eq!(resend_questions(&world).await, 0);
    engine.stop().await;
    world.sound().await;
}

#[tokio::test]
async fn a_part_let_go_while_its_intent_is_recorded_was_not_sent() {
    let world = World::new().await;
    let (_, id) = world.running("chat").await;
    world.finish(id, 1).await;
    let engine = world.engine("");
    let port = port(&engine, SendIdempotency::None);
    let mut lease = next(&port).await;
    let part = lease.part().id;
    // The intent waits for the writer when its holder goes.
    let (resume, paused) = channel();
    let (entered, in_hook) = oneshot::channel();
    let store = world.store.clone();
    let pause = tokio::spawn(async move {
        store
            .with_writer(move |_| {
                entered.send(()).unwrap();
                paused.recv()
            })
            .await
    });
    in_hook.await.unwrap();
    assert!(lease.begin().now_or_never().is_none());
    drop(lease);
    resume.send(()).unwrap();
    pause.await.unwrap().unwrap().unwrap();
    let again = next(&port).await;
    assert_eq!(again.part().id, part);
    drop(again);
    assert_eq!(states(&world).await, [OutboxState::Pending]);
    assert_eq!(resend_questions(&world).await, 0);
    engine.stop().await;
    world.sound().await;
}
