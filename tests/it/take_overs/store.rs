//! One person at a time writes in a conversation, its agent begins nothing meanwhile, and nothing of it is lost.

use leverframe::protocol::enums::{ContinuationState, Effect, OutboxClass};
use leverframe::protocol::ids::{ContinuationId, SessionId, TakeOverId};
use leverframe::protocol::session::{BY_HAND, StepBody};
use leverframe::protocol::snapshot::PageRequest;
use leverframe::store::commands::end_session::EndSession;
use leverframe::store::commands::release_turn::{Yield, YieldTo};
use leverframe::store::commands::send_as_bot::SendBotMessage;
use leverframe::store::commands::set_channel_draining::SetChannelDraining;
use leverframe::store::commands::take_over::{GiveBack, Take};
use leverframe::store::input::{NewPart, SessionChoice};
use leverframe::store::queries::outbox::OutboxFilter;

use crate::support::world::{World, by, gated, turn};

fn take(session_id: SessionId, who: &str, force: bool) -> Take {
    Take {
        session_id,
        id: TakeOverId::generate(),
        force,
        by: by(who),
    }
}

fn say(
    world: &World,
    session_id: SessionId,
    take_over_id: TakeOverId,
    who: &str,
) -> SendBotMessage {
    let mut own = turn("chat", None);
    own.session = SessionChoice::Id(session_id);
    own.text = format!("[{who} writes here in place of the agent]");
    SendBotMessage {
        session_id,
        take_over_id,
        epoch: world.epoch(),
        turn: own,
        text: "I am on it.".to_owned(),
        parts: vec![NewPart {
            channel: "team".to_owned(),
            conversation: "chat".to_owned(),
            text: "I am on it.".to_owned(),
            reply_to: None,
            file: None,
        }],
        by: by(who),
    }
}

async fn state(world: &World, id: ContinuationId) -> ContinuationState {
    world
        .store
        .read(move |reader| reader.continuation(id))
        .await
        .unwrap()
        .state
}

/// The final texts of a turn with why each ended.
async fn finals(world: &World, id: ContinuationId) -> Vec<(String, String)> {
    let steps = world
        .store
        .read(move |reader| reader.steps(id))
        .await
        .unwrap();
    steps
        .into_iter()
        .filter_map(|step| match step.body {
            StepBody::Final { text, stop, .. } => Some((text, stop)),
            _ => None,
        })
        .collect()
}

async fn sent(world: &World) -> Vec<String> {
    let parts = world
        .store
        .read(|reader| reader.outbox(&OutboxFilter::default(), &PageRequest::default()))
        .await
        .unwrap();
    parts
        .items
        .into_iter()
        .filter(|part| part.class == OutboxClass::Final)
        .map(|part| part.preview)
        .collect()
}

#[tokio::test]
async fn one_person_at_a_time_holds_a_conversation() {
    let world = World::new().await;
    let session = world.ingest("chat").await.session_id.unwrap();
    let first = take(session, "anna", false);
    let anna = first.id;
    world.ok(first).await;
    let refused = world.illegal(take(session, "ben", false)).await;
    assert!(refused.contains("anna has taken"), "{refused}");
    let refused = world.illegal(say(&world, session, anna, "ben")).await;
    assert!(refused.contains("in another console"), "{refused}");

    // The same person at another console: the first one cannot write any more.
    let again = take(session, "anna", false);
    let second = again.id;
    world.ok(again).await;
    world.illegal(say(&world, session, anna, "anna")).await;
    world.ok(say(&world, session, second, "anna")).await;

    // Somebody takes it from her.
    let forced = take(session, "ben", true);
    let ben = forced.id;
    world.ok(forced).await;
    world.illegal(say(&world, session, second, "anna")).await;
    world.ok(say(&world, session, ben, "ben")).await;
    let back = |who: &str, force| GiveBack {
        session_id: session,
        force,
        by: by(who),
    };
    world.illegal(back("anna", false)).await;
    world.ok(back("ben", false)).await;
    world.illegal(back("ben", false)).await;
    world.illegal(say(&world, session, ben, "ben")).await;
    assert_eq!(sent(&world).await.len(), 2);
    world.sound().await;
}

#[tokio::test]
async fn a_word_answers_everybody_who_waited_and_the_agent_the_rest() {
    let world = World::new().await;
    let (session, running) = world.running("chat").await;
    let taken = take(session, "anna", false);
    let id = taken.id;
    assert_eq!(world.ok(taken).await, Some(running), "it is to let go");
    world
        .ok(Yield {
            continuation_id: running,
            epoch: world.epoch(),
            to: YieldTo::Pending,
            reason: "taken over".to_owned(),
            active_ms: 1,
            partial: None,
        })
        .await;
    // However many wait, none is turned away.
    let mut waiting = Vec::new();
    for _ in 0..12 {
        waiting.push(world.ingest("chat").await.continuation_id.unwrap());
    }
    assert_eq!(world.claim(session).await, None, "the agent is held");
    let answered = world.ok(say(&world, session, id, "anna")).await;
    assert_eq!(Some(&answered), waiting.last());
    assert_eq!(
        finals(&world, answered).await,
        [("I am on it.".to_owned(), BY_HAND.to_owned())]
    );
    for other in waiting.iter().take(11).chain([&running]) {
        assert_eq!(state(&world, *other).await, ContinuationState::Completed);
        assert_eq!(finals(&world, *other).await[0].0, "");
    }
    assert_eq!(sent(&world).await, ["I am on it."], "it is sent once");

    // Where nobody waits it is a turn of its own; what comes afterwards is the agent's.
    let own = world.ok(say(&world, session, id, "anna")).await;
    assert_ne!(own, answered);
    let later = world.ingest("chat").await.continuation_id.unwrap();
    let world = world.crash().await;
    assert_eq!(world.claim(session).await, None, "held after a crash too");
    world
        .ok(GiveBack {
            session_id: session,
            force: false,
            by: by("anna"),
        })
        .await;
    assert_eq!(world.claim(session).await, Some(later));
    world.sound().await;
}

#[tokio::test]
async fn a_turn_that_waits_for_a_person_is_left_to_that_person() {
    let world = World::new().await;
    let (session, parked) = world.running("chat").await;
    let (call, _) = gated(Effect::NonIdempotent);
    world.propose(parked, vec![call]).await;
    world
        .ok(leverframe::store::commands::park::Park {
            continuation_id: parked,
            epoch: world.epoch(),
            active_ms: 1,
            notices: Vec::new(),
        })
        .await;
    let taken = take(session, "anna", false);
    let id = taken.id;
    world.ok(taken).await;
    let own = world.ok(say(&world, session, id, "anna")).await;
    assert_ne!(own, parked);
    assert_eq!(
        state(&world, parked).await,
        ContinuationState::AwaitingApproval
    );
    world.sound().await;
}

#[tokio::test]
async fn a_new_session_of_the_conversation_is_held_as_well() {
    let world = World::new().await;
    let session = world.ingest("chat").await.session_id.unwrap();
    let taken = take(session, "anna", false);
    let id = taken.id;
    world.ok(taken).await;
    world
        .ok(EndSession {
            session_id: session,
            reason: "/new".to_owned(),
            by: by("ben"),
        })
        .await;
    let next = world.ingest("chat").await;
    let new = next.session_id.unwrap();
    assert_ne!(new, session);
    assert_eq!(world.claim(new).await, None);
    // Named by either session, it is said in the one that is open.
    let answered = world.ok(say(&world, session, id, "anna")).await;
    assert_eq!(Some(answered), next.continuation_id);
    let other = world.ingest("another").await.session_id.unwrap();
    assert!(world.claim(other).await.is_some(), "others are free");
    world.sound().await;
}

#[tokio::test]
async fn a_channel_that_drains_finishes_what_was_begun_and_takes_up_nothing_new() {
    let world = World::new().await;
    let (session, begun) = world.running("chat").await;
    let drain = |draining| SetChannelDraining {
        channel: "team".to_owned(),
        draining,
        by: by("anna"),
    };
    world.ok(drain(true)).await;
    let next = world.ingest("chat").await.continuation_id.unwrap();
    let left = |world: &World| {
        let store = world.store.clone();
        async move {
            store
                .read(|reader| reader.channel_row("team"))
                .await
                .unwrap()
                .draining
        }
    };
    let drain_of = left(&world).await.unwrap();
    assert_eq!(
        (drain_of.running, drain_of.waiting, drain_of.held_back),
        (1, 0, 1)
    );
    // Put down and taken up again: it was begun.
    world
        .ok(Yield {
            continuation_id: begun,
            epoch: world.epoch(),
            to: YieldTo::Pending,
            reason: "test".to_owned(),
            active_ms: 1,
            partial: None,
        })
        .await;
    assert_eq!(world.claim(session).await, Some(begun));
    world
        .ok(leverframe::store::commands::fail_turn::FailTurn {
            continuation_id: begun,
            epoch: world.epoch(),
            model: None,
            error: leverframe::protocol::session::ErrorBody {
                code: "test".to_owned(),
                message: "test".to_owned(),
            },
            notices: Vec::new(),
        })
        .await;
    assert_eq!(world.claim(session).await, None);
    let world = world.crash().await;
    assert_eq!(world.claim(session).await, None, "after a crash too");
    assert_eq!(left(&world).await.unwrap().running, 0);
    world.ok(drain(false)).await;
    assert_eq!(left(&world).await, None);
    assert_eq!(world.claim(session).await, Some(next));
    world.sound().await;
}
