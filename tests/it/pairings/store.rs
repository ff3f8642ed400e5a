//! Who asks, who is let in, and that nobody is told more than once for one question.

use leverframe::protocol::approval::Requester;
use leverframe::protocol::enums::{
    ApprovalState, ChannelKind, DecisionKind, PairingState, Surface,
};
use leverframe::protocol::event::EventBody;
use leverframe::store::commands::decide::DecideOutcome;
use leverframe::store::commands::ensure_channel::EnsureChannel;
use leverframe::store::commands::revoke_pairing::RevokePairing;
use leverframe::store::commands::sweep_loose::SweepGrants;

use crate::pairings::world::{ask, decide, id_of, pairing, pass, said};
use crate::support::world::{World, baseline, by};

async fn state(world: &World, sender: &str) -> Option<PairingState> {
    pairing(world, sender).await.map(|found| found.state)
}

async fn may_talk(world: &World, channel: &'static str, sender: &str) -> bool {
    let id = format!("telegram:{sender}");
    let paired = world
        .store
        .read(move |reader| reader.is_paired(channel, &id))
        .await
        .unwrap();
    let among = ["telegram:nobody", &format!("telegram:{sender}")].map(|id| Requester {
        id: id.to_owned(),
        display: String::new(),
        person: None,
    });
    let all = world
        .store
        .read(move |reader| reader.paired(channel, &among))
        .await;
    assert_eq!(
        all.unwrap(),
        vec![format!("telegram:{sender}"); usize::from(paired)]
    );
    paired
}

async fn revoke(world: &World, sender: &str) -> RevokePairing {
    RevokePairing {
        id: id_of(world, sender).await,
        by: by("anna"),
    }
}

async fn audited(world: &World, action: &str) -> u64 {
    let action = action.to_owned();
    world
        .store
        .with_writer(move |conn| {
            conn.query_row(
                "SELECT count(*) FROM audit WHERE action = ?1",
                [action],
                |row| row.get(0),
            )
            .unwrap()
        })
        .await
        .unwrap()
}

#[tokio::test]
async fn a_stranger_asks_once_is_let_in_once_and_can_be_put_out_again() {
    let world = World::new().await;
    let first = ask(&world, "7", Some("m1"));
    let (taken, asked) = world.ok(first.clone()).await;
    assert!(asked && !taken.repeated);
    // The same message again, and another one while the question waits.
    let (taken, asked) = world.ok(first.clone()).await;
    assert!(!asked && taken.repeated);
    let (taken, asked) = world.ok(ask(&world, "7", Some("m2"))).await;
    assert!(!asked && !taken.repeated);
    let waits = pairing(&world, "7").await.unwrap();
    assert_eq!(waits.state, PairingState::Pending);
    assert_eq!(
        (waits.channel.as_str(), waits.display.as_str()),
        ("team", "Stranger 7")
    );
    let code = first.approval.short_code.to_uppercase();
    assert_eq!(waits.code, code);
    assert_eq!(waits.expires_at.millis_since(waits.asked_at), 3_600_000);
    assert_eq!(said(&world, "7").await.len(), 1);
    assert!(!may_talk(&world, "team", "7").await);

    decide(&world, "7", DecisionKind::Approve).await;
    let accepted = pairing(&world, "7").await.unwrap();
    assert_eq!(accepted.state, PairingState::Accepted);
    assert_eq!(accepted.by.as_deref(), Some("anna"));
    assert!(may_talk(&world, "team", "7").await);
    let told = said(&world, "7").await;
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[1].contains("have access") && told[1].contains("send it again"));
    // What was on its way when the decision fell asks nothing.
    let (_, asked) = world.ok(ask(&world, "7", Some("m3"))).await;
    assert!(!asked);
    world.sound().await;

    let command = revoke(&world, "7").await;
    world.ok(command.clone()).await;
    world.ok(command).await;
    assert!(!may_talk(&world, "team", "7").await);
    assert_eq!(state(&world, "7").await, Some(PairingState::Revoked));
    assert_eq!(audited(&world, "pairing.accepted").await, 1);
    assert_eq!(audited(&world, "pairing.revoked").await, 1);
    assert_eq!(said(&world, "7").await.len(), 2, "nobody is told of that");
    // Unknown again: they may ask, under another code.
    let (_, asked) = world.ok(ask(&world, "7", Some("m4"))).await;
    assert!(asked);
    let again = pairing(&world, "7").await.unwrap();
    assert_ne!(again.code, code);
    assert_eq!((again.by, again.decided_at), (None, None));
    world.sound().await;
}

#[tokio::test]
async fn whoever_is_refused_stays_out_without_a_word_until_that_is_taken_back() {
    let world = World::new().await;
    world.ok(ask(&world, "7", None)).await;
    decide(&world, "7", DecisionKind::Deny).await;
    assert_eq!(state(&world, "7").await, Some(PairingState::Refused));
    pass(&world, 100_000).await;
    let (_, asked) = world.ok(ask(&world, "7", None)).await;
    assert!(!asked && !may_talk(&world, "team", "7").await);
    assert_eq!(said(&world, "7").await.len(), 1);
    assert_eq!(audited(&world, "pairing.refused").await, 1);
    let take_back = revoke(&world, "7").await;
    world.ok(take_back).await;
    let (_, asked) = world.ok(ask(&world, "7", None)).await;
    assert!(asked);
    let pending = revoke(&world, "7").await;
    let refused = world.illegal(pending).await;
    assert!(refused.contains("pending"), "{refused}");
    world.sound().await;
}

#[tokio::test]
async fn a_code_ends_after_an_hour_and_the_next_message_asks_anew() {
    let world = World::new().await;
    world.ok(ask(&world, "7", None)).await;
    let old = id_of(&world, "7").await;
    pass(&world, 3599).await;
    assert_eq!(state(&world, "7").await, Some(PairingState::Pending));
    // Between its end and the sweep it does not count any more.
    world.clock.advance_millis(2000);
    let late = world
        .decide_command(old, DecisionKind::Approve, "anna")
        .await;
    let report = world.ok(late).await;
    assert_eq!(report.outcome, DecideOutcome::Expired);
    pass(&world, 0).await;
    let ended = pairing(&world, "7").await.unwrap();
    assert_eq!(ended.state, PairingState::Expired);
    assert_eq!(ended.by, None);
    let question = world.store.read(move |reader| reader.approval(old)).await;
    assert_eq!(question.unwrap().state, ApprovalState::Expired);
    world.sound().await;
    let (_, asked) = world.ok(ask(&world, "7", None)).await;
    assert!(asked);
    assert_ne!(id_of(&world, "7").await, old);
    assert_eq!(said(&world, "7").await.len(), 2);
    world.sound().await;
}

#[tokio::test]
async fn three_ask_at_a_time_on_each_account_and_the_fourth_hears_nothing() {
    let world = World::new().await;
    world
        .ok(EnsureChannel {
            name: "second".to_owned(),
            kind: ChannelKind::Telegram,
            baseline: baseline(),
        })
        .await;
    for sender in ["1", "2", "3"] {
        assert!(world.ok(ask(&world, sender, None)).await.1);
    }
    for _ in 0..3 {
        assert!(!world.ok(ask(&world, "4", None)).await.1);
    }
    assert_eq!(state(&world, "4").await, None);
    assert!(said(&world, "4").await.is_empty());
    // Another account of the same platform is another door: its own three, and nobody is let in there with it.
    let mut elsewhere = ask(&world, "1", None);
    elsewhere.record.origin.channel = "second".to_owned();
    elsewhere.record.origin.principal = "second".to_owned();
    assert!(world.ok(elsewhere).await.1);
    decide(&world, "2", DecisionKind::Approve).await;
    assert!(may_talk(&world, "team", "2").await);
    assert!(!may_talk(&world, "second", "2").await);
    // A place is free again.
    assert!(world.ok(ask(&world, "4", None)).await.1);
    world.sound().await;
}

#[tokio::test]
async fn a_question_and_its_answer_are_events_and_survive_a_restart_and_a_crash() {
    let world = World::new().await;
    let mut events = world.store.subscribe();
    world.ok(ask(&world, "7", None)).await;
    let world_id = id_of(&world, "7").await;
    let requested = events.recv().await.unwrap();
    let EventBody::ApprovalRequested { approval } = &requested.body else {
        panic!("{requested:?}")
    };
    assert_eq!(approval.id, world_id);
    assert_eq!(approval.requester.id, "telegram:7");
    assert_eq!(approval.session_id, None);
    let world = world.crash().await;
    decide(&world, "7", DecisionKind::Approve).await;
    let world = world.restart().await;
    assert!(may_talk(&world, "team", "7").await);
    let approval = world
        .store
        .read(move |reader| reader.approval(world_id))
        .await
        .unwrap();
    assert_eq!(approval.decision.unwrap().surface, Surface::Console);
    world.sound().await;
}

#[tokio::test]
async fn what_ended_long_ago_goes_and_who_is_in_or_refused_stays() {
    let world = World::new().await;
    for sender in ["1", "2", "3"] {
        world.ok(ask(&world, sender, None)).await;
    }
    decide(&world, "1", DecisionKind::Approve).await;
    decide(&world, "2", DecisionKind::Deny).await;
    pass(&world, 3600).await;
    world.ok(ask(&world, "4", None)).await;
    decide(&world, "4", DecisionKind::Approve).await;
    let command = revoke(&world, "4").await;
    world.ok(command).await;
    let sweep = || async { world.ok(SweepGrants).await.removed };
    pass(&world, 59 * 24 * 3600).await;
    assert_eq!(sweep().await, 0);
    pass(&world, 2 * 24 * 3600).await;
    assert_eq!(sweep().await, 2);
    assert!(pairing(&world, "3").await.is_none() && pairing(&world, "4").await.is_none());
    assert!(may_talk(&world, "team", "1").await);
    assert_eq!(state(&world, "2").await, Some(PairingState::Refused));
    world.sound().await;
}
