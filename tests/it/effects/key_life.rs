//! How long a key lives, told by the store under a clock that stands still.

use leverframe::protocol::enums::{ApprovalKind, DecisionKind, Effect, ToolCallState};
use leverframe::protocol::ids::{ContinuationId, SessionId, ToolCallId};
use leverframe::store::commands::resume::Resume;
use leverframe::store::commands::start_tool::{StartTool, StartToolOutcome};
use leverframe::store::input::NewCallOutcome;
use leverframe::store::queries::turn::CallRow;

use crate::support::world::{World, by, call, gated};

/// How long the other side remembers keys.
const LIFE_MS: u64 = 60_000;

async fn start(world: &World, id: ToolCallId, digest: &str) -> StartToolOutcome {
    world
        .ok(StartTool {
            call_id: id,
            epoch: world.epoch(),
            digest: digest.to_owned(),
            max_decision_age_ms: 3_600_000,
            key_lifetime_ms: Some(LIFE_MS),
            basis: None,
        })
        .await
}

async fn row(world: &World, id: ContinuationId) -> CallRow {
    let turn = world
        .store
        .read(move |reader| reader.turn(id))
        .await
        .unwrap();
    turn.calls[0].clone()
}

async fn go_on(world: &World, session: SessionId, id: ContinuationId) {
    world
        .ok(Resume {
            continuation_id: id,
            by: by("anna"),
        })
        .await;
    world.claim(session).await.unwrap();
}

/// A keyed call that was running when its process died.
async fn died() -> (World, SessionId, ContinuationId, ToolCallId, String) {
    let world = World::new().await;
    let (session, id) = world.running("chat").await;
    let new = call(Effect::Keyed, NewCallOutcome::Ready);
    let (call_id, digest) = (new.id, new.digest.clone());
    world.propose(id, vec![new]).await;
    assert_eq!(
        start(&world, call_id, &digest).await,
        StartToolOutcome::Started { attempt: 1 }
    );
    (world, session, id, call_id, digest)
}

#[tokio::test]
async fn a_key_repeats_while_it_lives_and_not_after() {
    for (later_ms, expected) in [
        (LIFE_MS - 1, ToolCallState::Ready),
        (LIFE_MS, ToolCallState::Indeterminate),
    ] {
        let (world, _, id, _, _) = died().await;
        world.clock.advance_millis(later_ms as i64);
        let world = world.crash().await;
        assert_eq!(row(&world, id).await.call.state, expected, "{later_ms}");
        world.sound().await;
    }
}

#[tokio::test]
async fn a_key_that_runs_out_before_the_start_is_asked_about() {
    let (world, session, id, call_id, digest) = died().await;
    let world = world.crash().await;
    assert_eq!(row(&world, id).await.call.state, ToolCallState::Ready);
    // Held, or waiting for a person to resume it.
    world.clock.advance_millis(LIFE_MS as i64);
    go_on(&world, session, id).await;
    assert_eq!(
        start(&world, call_id, &digest).await,
        StartToolOutcome::KeyRanOut
    );
    let row = row(&world, id).await;
    assert_eq!(row.call.state, ToolCallState::Indeterminate);
    assert_eq!(row.call.attempts, 1);
    let gate = row.call.approval_id.unwrap();
    let question = world
        .store
        .read(move |reader| reader.approval(gate))
        .await
        .unwrap();
    assert_eq!(question.kind, ApprovalKind::ResolveUnknown);
    // A person's word starts it all the same.
    let command = world
        .decide_command(gate, DecisionKind::RunAgain, "anna")
        .await;
    world.ok(command).await;
    assert_eq!(
        start(&world, call_id, &digest).await,
        StartToolOutcome::Started { attempt: 2 }
    );
    world.succeed(call_id, 2).await;
    world.finish(id, 1).await;
    world.sound().await;
}

#[tokio::test]
async fn a_second_run_does_not_make_the_key_live_longer() {
    let (world, session, id, call_id, digest) = died().await;
    world.clock.advance_millis((LIFE_MS / 2) as i64);
    let world = world.crash().await;
    go_on(&world, session, id).await;
    assert_eq!(
        start(&world, call_id, &digest).await,
        StartToolOutcome::Started { attempt: 2 }
    );
    // The other side counts from the first run.
    world.clock.advance_millis((LIFE_MS / 2) as i64);
    let world = world.crash().await;
    assert_eq!(
        row(&world, id).await.call.state,
        ToolCallState::Indeterminate
    );
    world.sound().await;
}

#[tokio::test]
async fn the_engine_never_lets_run_again_what_cannot_repeat() {
    for (effect, taken) in [(Effect::NonIdempotent, false), (Effect::Reconcilable, true)] {
        let world = World::new().await;
        let (session, id) = world.running("chat").await;
        let (new, gate) = gated(effect);
        let (call_id, digest) = (new.id, new.digest.clone());
        world.propose(id, vec![new]).await;
        let approve = world
            .decide_command(gate, DecisionKind::Approve, "anna")
            .await;
        world.ok(approve).await;
        start(&world, call_id, &digest).await;
        let world = world.crash().await;
        go_on_waiting(&world, id).await;
        let gate = row(&world, id).await.call.approval_id.unwrap();
        let mut command = world
            .decide_command(gate, DecisionKind::RunAgain, "engine")
            .await;
        command.by = leverframe::store::input::ActorRef::engine();
        if taken {
            assert!(world.ok(command).await.resumed);
            assert_eq!(world.claim(session).await, Some(id));
        } else {
            let what = world.illegal(command).await;
            assert!(what.contains("only a person"), "{what}");
        }
        world.sound().await;
    }
}

async fn go_on_waiting(world: &World, id: ContinuationId) {
    world
        .ok(Resume {
            continuation_id: id,
            by: by("anna"),
        })
        .await;
}
