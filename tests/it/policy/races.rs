//! Two people change what is allowed at the same moment: the stricter word of the two stays.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::task::{Context, Wake, Waker};
use std::time::{Duration, Instant};

use futures_util::poll;
use leverframe::engine::caller::Caller;
use leverframe::engine::handle::policy;
use leverframe::protocol::command::{Actor, Waiting};
use leverframe::protocol::enums::{Autonomy, ChannelKind, Scope, Surface};
use leverframe::protocol::ids::SessionId;
use leverframe::protocol::policy::PolicyPatch;
use leverframe::protocol::problem::ProblemKind;
use leverframe::protocol::request::{Command, EmergencyStop, ReleaseEmergencyStop};
use leverframe::protocol::uncertain::ConversationChoice;
use leverframe::store::commands::ensure_channel::EnsureChannel;
use leverframe::store::commands::set_emergency_stop::SetEmergencyStop;
use leverframe::store::commands::set_policy::SetPolicy;
use tokio::sync::oneshot;

use crate::support::daemon::DEADLINE;
use crate::support::world::{World, baseline, by, submit};

async fn stored_stop(world: &World) -> bool {
    let flags = world.store.read(|reader| reader.flags()).await.unwrap();
    flags.held.is_some()
}

fn stop() -> Command {
    Command::EmergencyStop(EmergencyStop { reason: None })
}

fn release(conversations: Vec<ConversationChoice>) -> Command {
    Command::ReleaseEmergencyStop(ReleaseEmergencyStop {
        waiting: Waiting::All,
        conversations,
    })
}

#[tokio::test]
async fn a_stop_that_is_pressed_during_a_release_stays() {
    let world = World::new().await;
    let engine = world.engine("");
    submit(&engine, stop()).await.unwrap();
    let mut released = pin!(submit(&engine, release(Vec::new())));
    assert!(poll!(&mut released).is_pending());
    // It is recorded, and whoever gave it has not gone on.
    let deadline = Instant::now() + DEADLINE;
    while stored_stop(&world).await {
        assert!(Instant::now() < deadline);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let mut pressed = pin!(submit(&engine, stop()));
    assert!(poll!(&mut pressed).is_pending());
    let (released, pressed) = tokio::join!(released, pressed);
    pressed.unwrap();
    assert!(engine.is_held(), "the second stop is in force");
    assert!(stored_stop(&world).await, "and recorded");
    assert_eq!(released.unwrap_err().kind, ProblemKind::Conflict);
    // The next release ends it.
    submit(&engine, release(Vec::new())).await.unwrap();
    assert!(!engine.is_held());
    assert!(!stored_stop(&world).await);
    engine.stop().await;
}

#[tokio::test]
async fn a_release_that_fails_keeps_the_stop_that_is_still_to_be_recorded() {
    let world = World::new().await;
    let engine = world.engine("");
    submit(&engine, stop()).await.unwrap();
    engine.emergency.record_later(SetEmergencyStop {
        held: Some("anna".to_owned()),
        by: by("anna"),
        drop_full: true,
    });
    let unknown = ConversationChoice {
        session_id: SessionId::generate(),
        waiting: Waiting::Drop,
    };
    submit(&engine, release(vec![unknown])).await.unwrap_err();
    assert!(engine.is_held());
    assert!(engine.emergency.take_unrecorded().is_some());
    engine.stop().await;
}

#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[tokio::test]
async fn a_lower_level_that_was_asked_for_does_not_raise_what_was_lowered_meanwhile() {
    let world = World::new().await;
    let engine = world.engine("[channels.api]\n");
    let set = |autonomy| SetPolicy {
        channel: "api".to_owned(),
        autonomy: Some(autonomy),
        expires_at: None,
        auto_approve: None,
        block: None,
        always_ask: None,
        if_version: None,
        by: by("anna"),
    };
    world
        .ok(EnsureChannel {
            name: "api".to_owned(),
            kind: ChannelKind::Api,
            baseline: baseline(),
        })
        .await;
    world.ok(set(Autonomy::Full)).await;
    // The writer stands still; anna's word is the first behind it.
    let (resume, paused) = channel::<()>();
    let (entered, in_hook) = oneshot::channel();
    let store = world.store.clone();
    let pause = tokio::spawn(async move {
        let wait = move |_: &rusqlite::Connection| {
            entered.send(()).unwrap();
            paused.recv()
        };
        store.with_writer(wait).await
    });
    in_hook.await.unwrap();
    let mut lowered = pin!(world.store.write(set(Autonomy::Supervised)));
    assert!(poll!(&mut lowered).is_pending());
    let caller = Caller {
        actor: Actor::Token {
            name: "night".to_owned(),
            scopes: vec![Scope::Operate],
            person: None,
        },
        surface: Surface::Http,
        key: None,
        trace: None,
    };
    let patch = PolicyPatch {
        autonomy: Some(Autonomy::SemiAuto),
        ..PolicyPatch::default()
    };
    let mut asked = pin!(policy::set(&engine, &caller, "api".to_owned(), patch));
    // It reads the policy, and then its change waits for the writer, too.
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(woken.clone());
    let mut context = Context::from_waker(&waker);
    assert!(asked.as_mut().poll(&mut context).is_pending());
    let deadline = Instant::now() + DEADLINE;
    while !woken.0.load(Ordering::SeqCst) {
        assert!(Instant::now() < deadline);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(asked.as_mut().poll(&mut context).is_pending());
    resume.send(()).unwrap();
    pause.await.unwrap().unwrap().unwrap();
    lowered.await.unwrap();
    let refused = asked.await.unwrap_err();
    assert_eq!(refused.kind, ProblemKind::Conflict, "{refused:?}");
    let policy = world.store.read(|reader| reader.policy("api")).await;
    assert_eq!(policy.unwrap().autonomy, Autonomy::Supervised);
    engine.stop().await;
}
