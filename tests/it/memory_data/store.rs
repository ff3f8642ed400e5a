//! The store's commands: written once, changed by the rules, gone when forgotten.

use leverframe::protocol::enums::{MemoryKind, MemoryState};
use leverframe::protocol::event::EventBody;
use leverframe::protocol::ids::MemoryId;
use leverframe::protocol::memory::{MAX_TEXT, MemoryFilter, MemoryTarget};
use leverframe::protocol::snapshot::PageRequest;
use leverframe::store::EventsAfter;
use leverframe::store::commands::change_memory::{DeleteMemory, MemoryChange};
use leverframe::store::commands::import_memories::ImportMemories;
use leverframe::store::commands::record_memory_use::RecordMemoryUse;
use leverframe::store::error::StoreError;
use leverframe::store::queries::memories::RecallLimits;
use leverframe::store::queries::memory_rows::RecallContext;

use crate::memory_data::world::{add, adding, change, global, in_channel, in_session, new, search};
use crate::support::world::{World, by};

async fn count(world: &World) -> usize {
    world
        .store
        .read(|reader| reader.memories(&MemoryFilter::default(), &PageRequest::default()))
        .await
        .unwrap()
        .items
        .len()
}

#[tokio::test]
async fn the_same_text_is_remembered_once_in_a_place() {
    let world = World::new().await;
    let (first, known) = world.ok(adding(global("Stand-up is at 9"))).await;
    assert!(!known);
    let (again, known) = world.ok(adding(global("  stand-up IS at\n9 "))).await;
    assert!(known);
    assert_eq!(again.id, first.id);
    assert_eq!(again.text, "Stand-up is at 9");
    // Another place is another memory.
    let (channel, known) = world.ok(adding(in_channel("Stand-up is at 9"))).await;
    assert!(!known && channel.id != first.id);
    assert_eq!(count(&world).await, 2);
    // What waits is recalled once somebody says it who need not wait.
    let mut proposed = global("Lunch is at 12");
    proposed.proposed = true;
    let waiting = add(&world, proposed.clone()).await;
    assert_eq!(waiting.state, MemoryState::Proposed);
    let (still, known) = world.ok(adding(proposed)).await;
    assert!(known && still.state == MemoryState::Proposed);
    let (now, known) = world.ok(adding(global("lunch is at 12"))).await;
    assert!(known);
    assert_eq!((now.id, now.state), (waiting.id, MemoryState::Active));
    world.sound().await;
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_by_name() {
    let world = World::new().await;
    let cases = [
        (global(" \0 "), "the text is empty"),
        (global(&"x".repeat(MAX_TEXT + 1)), "at most 4096"),
        (global(&"x".repeat(1 << 20)), "1048576 bytes"),
    ];
    for (item, expected) in cases {
        let why = world.illegal(adding(item)).await;
        assert!(why.contains(expected), "{why}");
    }
    let mut unsure = global("x");
    unsure.confidence = 1.5;
    assert!(
        world
            .illegal(adding(unsure))
            .await
            .contains("between 0 and 1")
    );
    let nowhere = new(
        MemoryTarget::Channel {
            channel: "nowhere".to_owned(),
        },
        "x",
    );
    assert!(matches!(
        world.store.write(adding(nowhere)).await,
        Err(StoreError::NotFound {
            what: "channel",
            ..
        })
    ));
    assert_eq!(count(&world).await, 0);
    add(&world, global(&"x".repeat(MAX_TEXT))).await;
}

#[tokio::test]
async fn each_state_allows_what_it_should() {
    let world = World::new().await;
    let one = add(&world, global("the port is 80")).await;
    let two = add(&world, global("the port is 81")).await;
    let why = world.illegal(change(one.id, MemoryChange::Accept)).await;
    assert!(why.contains("only a proposed one"), "{why}");
    let pinned = world.ok(change(one.id, MemoryChange::Pin(true))).await;
    assert!(pinned.pinned);
    // One that is replaced is pinned no longer, and no longer recalled.
    let kept = world
        .ok(change(two.id, MemoryChange::Supersede(vec![one.id])))
        .await;
    assert_eq!(kept.id, two.id);
    let id = one.id;
    let one = world
        .store
        .read(move |reader| reader.memory(id))
        .await
        .unwrap();
    assert_eq!(
        (one.state, one.pinned, one.superseded_by),
        (MemoryState::Superseded, false, Some(two.id))
    );
    let why = world.illegal(change(one.id, MemoryChange::Pin(true))).await;
    assert!(why.contains("pin the one that replaced it"), "{why}");
    let why = world
        .illegal(change(two.id, MemoryChange::Supersede(vec![two.id])))
        .await;
    assert!(why.contains("cannot replace itself"), "{why}");
    let why = world
        .illegal(change(one.id, MemoryChange::Supersede(vec![two.id])))
        .await;
    assert!(why.contains("is superseded"), "{why}");
    // All of the others or none.
    let three = add(&world, global("the port is 82")).await;
    let gone = MemoryId::generate();
    assert!(matches!(
        world
            .store
            .write(change(
                two.id,
                MemoryChange::Supersede(vec![three.id, gone])
            ))
            .await,
        Err(StoreError::NotFound { .. })
    ));
    let id = three.id;
    let three = world
        .store
        .read(move |reader| reader.memory(id))
        .await
        .unwrap();
    assert_eq!(three.state, MemoryState::Active);
    let edited = world
        .ok(change(
            three.id,
            MemoryChange::Edit {
                text: Some("The harbour is closed".to_owned()),
                kind: Some(MemoryKind::Decision),
                expires_at: Some(world.clock.now().plus_seconds(60)),
            },
        ))
        .await;
    assert_eq!(edited.kind, MemoryKind::Decision);
    assert_eq!(search(&world, "harbour").await, ["The harbour is closed"]);
    assert_eq!(search(&world, "82").await, [""; 0]);
    world.sound().await;
}

#[tokio::test]
async fn everything_a_person_does_is_an_event_and_an_audit_row_without_the_text() {
    let world = World::new().await;
    let before = world.store.last_seq();
    let memory = add(&world, global("the canary sings")).await;
    world.ok(change(memory.id, MemoryChange::Pin(true))).await;
    // Nothing changes: nothing is said.
    world.ok(change(memory.id, MemoryChange::Pin(true))).await;
    world
        .ok(change(
            memory.id,
            MemoryChange::Edit {
                text: Some("the canary is silent".to_owned()),
                kind: None,
                expires_at: None,
            },
        ))
        .await;
    world
        .ok(DeleteMemory {
            id: memory.id,
            by: by("anna"),
        })
        .await;
    let EventsAfter::Events(events) = world.store.events_after(before, 100).await.unwrap() else {
        panic!("the log was reset");
    };
    let changes: Vec<String> = events
        .iter()
        .map(|event| match &event.body {
            EventBody::MemoryChanged { change, by, .. } => format!("{change} by {by}"),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        changes,
        [
            "added by anna",
            "pinned by anna",
            "edited by anna",
            "deleted by anna"
        ]
    );
    let (actions, mentions): (i64, i64) = world
        .store
        .with_writer(|conn| {
            conn.query_row(
                "SELECT (SELECT count(*) FROM audit WHERE action LIKE 'memory.%'),
                    (SELECT count(*) FROM audit WHERE detail LIKE '%canary%') + (SELECT count(*) FROM events
                        WHERE body LIKE '%canary%')",
                [],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .unwrap()
        })
        .await
        .unwrap();
    assert_eq!((actions, mentions), (4, 0));
    world.sound().await;
}

#[tokio::test]
async fn an_import_is_whole_or_nothing() {
    let world = World::new().await;
    add(&world, global("known")).await;
    let why = world
        .illegal(ImportMemories {
            items: vec![global("new"), global("newer"), global("")],
            by: by("anna"),
        })
        .await;
    assert!(
        why.starts_with("item 3:") && why.ends_with("nothing was imported"),
        "{why}"
    );
    assert_eq!(count(&world).await, 1);
    let done = world
        .ok(ImportMemories {
            items: vec![global("new"), global("KNOWN"), global("new")],
            by: by("anna"),
        })
        .await;
    assert_eq!((done.added, done.known), (1, 2));
    assert_eq!(count(&world).await, 2);
}

#[tokio::test]
async fn a_context_gets_what_is_of_its_place_and_nothing_twice() {
    let world = World::new().await;
    let here = world.ingest("chat").await.session_id.unwrap();
    let elsewhere = world.ingest("other chat").await.session_id.unwrap();
    add(&world, in_session(here, "of this session: the lamp is red")).await;
    add(
        &world,
        in_session(elsewhere, "of another session: the lamp is green"),
    )
    .await;
    add(&world, in_channel("of the channel: the lamp is new")).await;
    let used = add(&world, global("of all: tea is at five")).await;
    add(&world, global("of all: the door is open")).await;
    let mut ended = global("of all: the lamp was borrowed");
    ended.expires_at = Some(world.clock.now().plus_seconds(10));
    add(&world, ended).await;
    let mut waiting = global("of all: the lamp is proposed");
    waiting.proposed = true;
    add(&world, waiting).await;
    let mut pinned = in_channel("of the channel: pinned lamp");
    pinned.pinned = true;
    add(&world, pinned).await;
    world.clock.advance_millis(11_000);
    world
        .ok(RecordMemoryUse {
            ids: vec![used.id; 30],
        })
        .await;
    let place = RecallContext {
        session_id: here,
        channel: "team".to_owned(),
        now: world.clock.now(),
    };
    let recalled = world
        .store
        .read(move |reader| {
            reader.recall(
                &place,
                "which lamp?",
                None,
                RecallLimits {
                    pins: 5,
                    facts: 2,
                    hits: 5,
                },
            )
        })
        .await
        .unwrap();
    let texts = |memories: &[leverframe::protocol::memory::Memory]| {
        let mut texts: Vec<String> = memories.iter().map(|memory| memory.text.clone()).collect();
        texts.sort();
        texts
    };
    assert_eq!(texts(&recalled.pins), ["of the channel: pinned lamp"]);
    assert_eq!(
        texts(&recalled.hits),
        [
            "of the channel: the lamp is new",
            "of this session: the lamp is red"
        ]
    );
    assert_eq!(recalled.facts[0].id, used.id);
    assert_eq!(
        texts(&recalled.facts),
        ["of all: tea is at five", "of all: the door is open"]
    );
    assert_eq!(recalled.memories().count(), 5);
}

#[tokio::test]
async fn pages_of_the_list_hold_each_once_newest_change_first() {
    let world = World::new().await;
    for n in 0..7 {
        add(&world, global(&format!("number {n}"))).await;
        if n % 3 == 0 {
            world.clock.advance_millis(1_000);
        }
    }
    let mut seen = Vec::new();
    let mut cursor = None;
    loop {
        let page = PageRequest {
            limit: Some(3),
            cursor: cursor.clone(),
        };
        let page = world
            .store
            .read(move |reader| reader.memories(&MemoryFilter::default(), &page))
            .await
            .unwrap();
        seen.extend(page.items.into_iter().map(|memory| memory.text));
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    let expected: Vec<String> = (0..7).rev().map(|n| format!("number {n}")).collect();
    assert_eq!(seen, expected);
}

#[tokio::test]
async fn a_review_shows_what_waits_what_is_double_what_differs_and_what_nobody_needed() {
    let world = World::new().await;
    add(&world, global("nobody ever asked for this")).await;
    world.clock.advance_millis((8 * 24 * 3600) * 1000);
    let mut proposed = global("Bert wants a dog");
    proposed.proposed = true;
    add(&world, proposed).await;
    for text in [
        "The server room is on floor 3",
        "the server room is on the 3 floor",
        "The backup runs at 02:00 every night",
        "The backup runs at 04:00 every night",
        "Carla eats meat",
        "Carla never eats meat",
        "Dora likes tea",
        "Dora likes coffee",
        "Elephants remember a lot",
    ] {
        add(&world, global(text)).await;
    }
    // Of another place: nobody there reads both.
    add(&world, in_channel("The backup runs at 06:00 every night")).await;
    add(&world, in_channel("the server room is on floor 3")).await;
    let now = world.clock.now();
    let review = world
        .store
        .read(move |reader| reader.memory_review(20, now))
        .await
        .unwrap();
    let texts = |groups: &[Vec<leverframe::protocol::memory::Memory>]| {
        let mut groups: Vec<Vec<String>> = groups
            .iter()
            .map(|group| {
                let mut group: Vec<String> =
                    group.iter().map(|memory| memory.text.clone()).collect();
                group.sort();
                group
            })
            .collect();
        groups.sort();
        groups
    };
    assert_eq!(review.proposed.len(), 1);
    assert_eq!(review.never_used.len(), 1);
    assert_eq!(
        texts(&review.duplicates),
        [[
            "The server room is on floor 3",
            "the server room is on the 3 floor"
        ]]
    );
    assert_eq!(
        texts(&review.contradictions),
        [
            ["Carla eats meat", "Carla never eats meat"],
            ["Dora likes coffee", "Dora likes tea"],
            [
                "The backup runs at 02:00 every night",
                "The backup runs at 04:00 every night"
            ]
        ]
    );
}
