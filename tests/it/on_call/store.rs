//! A question waits for somebody, and everything that decides about it stays as it was.

use leverframe::protocol::approval::Approval;
use leverframe::protocol::enums::{ApprovalState, DecisionKind, Effect, OutboxClass};
use leverframe::protocol::event::EventBody;
use leverframe::protocol::ids::ApprovalId;
use leverframe::protocol::snapshot::PageRequest;
use leverframe::store::EventsAfter;
use leverframe::store::commands::assign::{Assign, SetOnCall};
use leverframe::store::commands::decide::DecideOutcome;
use leverframe::store::commands::park::Park;
use leverframe::store::input::NewCard;
use leverframe::store::queries::outbox::OutboxFilter;

use crate::support::world::{START, World, by, gated};

fn card(conversation: &str, token: &str) -> NewCard {
    NewCard {
        person: "anna".to_owned(),
        channel: "team".to_owned(),
        conversation: conversation.to_owned(),
        buttons: vec![(DecisionKind::Deny, "Deny".to_owned(), token.to_owned())],
        reply_to: None,
    }
}

/// A turn that waits for a person.
async fn asked(world: &World) -> Approval {
    let (_, turn) = world.running("chat").await;
    let (call, _) = gated(Effect::NonIdempotent);
    world.propose(turn, vec![call]).await;
    world
        .ok(Park {
            continuation_id: turn,
            epoch: world.epoch(),
            active_ms: 1,
            notices: Vec::new(),
        })
        .await;
    let pending = world
        .store
        .read(|reader| reader.snapshot_rows(START))
        .await
        .unwrap()
        .approvals;
    pending.into_iter().next().expect("it asks")
}

fn over(approval: &Approval, to: Option<&str>, who: &str) -> Assign {
    Assign {
        approval_id: approval.id,
        digest: approval.digest.clone(),
        revision: Some(approval.revision),
        to: to.map(str::to_owned),
        note: to.map(|to| format!("for {to}")),
        cards: Vec::new(),
        by: by(who),
    }
}

async fn now(world: &World, id: ApprovalId) -> Approval {
    world
        .store
        .read(move |reader| reader.approval(id))
        .await
        .unwrap()
}

async fn audited(world: &World, wanted: &'static str) -> Vec<(String, serde_json::Value)> {
    let filter = leverframe::protocol::snapshot::AuditFilter {
        action: Some(wanted.to_owned()),
        oldest_first: true,
        ..Default::default()
    };
    world
        .store
        .read(move |reader| reader.audit_rows(&filter, &PageRequest::default()))
        .await
        .unwrap()
        .items
        .into_iter()
        .map(|row| (row.actor, serde_json::from_str(&row.detail).unwrap()))
        .collect()
}

async fn cards(world: &World) -> usize {
    let parts = world
        .store
        .read(|reader| reader.outbox(&OutboxFilter::default(), &PageRequest::default()))
        .await
        .unwrap();
    let is_card =
        |part: &&leverframe::protocol::session::OutboxItem| part.class == OutboxClass::ApprovalCard;
    parts.items.iter().filter(is_card).count()
}

#[tokio::test]
async fn it_waits_for_somebody_and_nothing_else_changes() {
    let world = World::new().await;
    let before = asked(&world).await;
    let DecideOutcome::Decided(handed) = world.ok(over(&before, Some("anna"), "ben")).await else {
        panic!("refused");
    };
    let waiting = handed.assignment.clone().expect("it waits for somebody");
    assert_eq!(
        (
            waiting.to.as_str(),
            waiting.by.as_str(),
            waiting.note.as_deref()
        ),
        ("anna", "ben", Some("for anna"))
    );
    let rest = Approval {
        assignment: None,
        ..handed.clone()
    };
    assert_eq!(
        rest,
        before.clone(),
        "state, digest, revision, offers and deadline stay"
    );
    // The same once more changes nothing; somebody else takes their place; nobody takes it back.
    assert!(matches!(
        world.ok(over(&before, Some("anna"), "ben")).await,
        DecideOutcome::Same(_)
    ));
    world.ok(over(&before, Some("cleo"), "anna")).await;
    let again = now(&world, before.id).await.assignment.unwrap();
    assert_eq!((again.to.as_str(), again.by.as_str()), ("cleo", "anna"));
    world.ok(over(&before, None, "ben")).await;
    assert_eq!(now(&world, before.id).await.assignment, None);
    assert!(matches!(
        world.ok(over(&before, None, "ben")).await,
        DecideOutcome::Same(_)
    ));

    let rows = audited(&world, "approval.assigned").await;
    let told: Vec<_> = rows
        .iter()
        .map(|(who, detail)| (who.as_str(), detail["to"].as_str(), detail["from"].as_str()))
        .collect();
    assert_eq!(
        told,
        [
            ("ben", Some("anna"), None),
            ("anna", Some("cleo"), Some("anna")),
            ("ben", None, Some("cleo")),
        ]
    );
    let EventsAfter::Events(events) = world.store.events_after(1 << 32, 500).await.unwrap() else {
        panic!("the log was swept");
    };
    let told = events
        .iter()
        .filter(|event| matches!(event.body, EventBody::ApprovalAssigned { .. }))
        .count();
    assert_eq!(told, 3);
    world.sound().await;
}

#[tokio::test]
async fn an_event_of_a_version_that_said_handed_over_is_read() {
    let world = World::new().await;
    let before = asked(&world).await;
    world.ok(over(&before, Some("anna"), "ben")).await;
    let changed = rusqlite::Connection::open(world.dir.join("leverframe.db"))
        .unwrap()
        .execute(
            "UPDATE events SET body = replace(body, 'approval.assigned', 'approval.handed_over')
             WHERE body LIKE '%approval.assigned%'",
            [],
        )
        .unwrap();
    assert_eq!(changed, 1);
    let EventsAfter::Events(events) = world.store.events_after(1 << 32, 500).await.unwrap() else {
        panic!("the log was swept");
    };
    let to = events.iter().find_map(|event| match &event.body {
        EventBody::ApprovalAssigned { approval } => approval.assignment.clone(),
        _ => None,
    });
    assert_eq!(to.expect("it is read").to, "anna");
}

#[tokio::test]
async fn what_was_not_shown_or_is_decided_is_not_assigned() {
    let world = World::new().await;
    let approval = asked(&world).await;
    let stale = Assign {
        revision: Some(approval.revision + 1),
        ..over(&approval, Some("anna"), "ben")
    };
    assert!(matches!(world.ok(stale).await, DecideOutcome::Stale { .. }));
    let other = Assign {
        digest: "of something else".to_owned(),
        ..over(&approval, Some("anna"), "ben")
    };
    assert!(matches!(world.ok(other).await, DecideOutcome::Stale { .. }));
    world.ok(over(&approval, Some("anna"), "ben")).await;
    let deny = world
        .decide_command(approval.id, DecisionKind::Deny, "ben")
        .await;
    world.ok(deny).await;
    let decided = now(&world, approval.id).await;
    assert_eq!(decided.state, ApprovalState::Denied);
    assert_eq!(decided.assignment, None, "what is decided waits for nobody");
    let DecideOutcome::Lost { winner, .. } = world.ok(over(&approval, Some("cleo"), "ben")).await
    else {
        panic!("assigned after the decision");
    };
    assert_eq!(winner.decision, DecisionKind::Deny);
    assert_eq!(audited(&world, "approval.assigned").await.len(), 1);
    world.sound().await;
}

#[tokio::test]
async fn a_card_is_sent_only_where_there_is_none_to_answer() {
    let world = World::new().await;
    let approval = asked(&world).await;
    let before = cards(&world).await;
    let with = |to: &str, token: &str| Assign {
        cards: vec![card(to, token)],
        ..over(&approval, Some(to), "ben")
    };
    world.ok(with("anna", "one")).await;
    assert_eq!(cards(&world).await, before + 1);
    world.ok(with("cleo", "two")).await;
    assert_eq!(cards(&world).await, before + 2);
    world.ok(with("anna", "three")).await;
    assert_eq!(
        cards(&world).await,
        before + 2,
        "anna can answer hers still"
    );
    world.sound().await;
}

#[tokio::test]
async fn who_is_on_call_is_kept_and_ends_by_the_clock() {
    let world = World::new().await;
    let set = |name: Option<&str>, seconds: Option<i64>| SetOnCall {
        name: name.map(str::to_owned),
        until: seconds.map(|seconds| START.plus_seconds(seconds)),
        note: None,
        by: by("ben"),
    };
    // Nobody after nobody is nothing that happened.
    world.ok(set(None, None)).await;
    assert_eq!(audited(&world, "oncall.set").await.len(), 0);
    world.ok(set(Some("anna"), Some(3600))).await;
    let world = world.crash().await;
    let kept = world.store.read(|reader| reader.on_call()).await.unwrap();
    assert_eq!(kept.as_ref().map(|one| one.name.as_str()), Some("anna"));
    let at = |seconds: i64| {
        let store = world.store.clone();
        async move {
            let now = START.plus_seconds(seconds);
            store
                .read(move |reader| reader.shift(START.plus_seconds(-9), now))
                .await
                .unwrap()
        }
    };
    let during = at(3599).await;
    assert_eq!(during.on_call, kept);
    assert_eq!(during.assignments[0].to.as_deref(), Some("anna"));
    let after = at(3600).await;
    assert_eq!((after.on_call, after.on_call_ended), (None, kept));
    world.ok(set(None, None)).await;
    let gone = at(3600).await;
    assert_eq!((gone.on_call, gone.on_call_ended), (None, None));
    assert_eq!(gone.assignments[0].to, None);
    world.sound().await;
}
