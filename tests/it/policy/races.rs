//! Two people change what is allowed at the same moment: the stricter word of the two stays.

use std::pin::pin;
use std::time::{Duration, Instant};

use futures_util::poll;
use leverframe::protocol::command::Waiting;
use leverframe::protocol::ids::SessionId;
use leverframe::protocol::problem::ProblemKind;
use leverframe::protocol::request::{Command, EmergencyStop, ReleaseEmergencyStop};
use leverframe::protocol::uncertain::ConversationChoice;
use leverframe::store::commands::set_emergency_stop::SetEmergencyStop;

use crate::support::daemon::DEADLINE;
use crate::support::world::{World, by, submit};

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
