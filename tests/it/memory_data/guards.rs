//! What only shows when a rule is gone: what stands for what, what an old embedding would still find, and each kind of
//! trace that a person leaves.

use std::collections::BTreeSet;

use leverframe::protocol::approval::Requester;
use leverframe::protocol::enums::MemoryState;
use leverframe::protocol::ids::{ContinuationId, MemoryId};
use leverframe::protocol::memory::Memory;
use leverframe::store::commands::change_memory::{DeleteMemory, MemoryChange};
use leverframe::store::queries::memories::RecallLimits;
use leverframe::store::queries::memory_rows::RecallContext;
use serde_json::json;

use crate::memory_data::world::{add, adding, change, global, in_session};
use crate::support::daemon::Home;
use crate::support::world::{World, by, turn};

async fn embeddings(world: &World) -> u64 {
    world
        .store
        .with_writer(|conn| {
            conn.query_row("SELECT count(*) FROM memory_vectors", [], |row| row.get(0))
                .unwrap()
        })
        .await
        .unwrap()
}

async fn one(world: &World, id: MemoryId) -> Memory {
    let memory = world.store.read(move |reader| reader.memory(id)).await;
    memory.unwrap()
}

#[tokio::test]
async fn what_is_recalled_no_more_does_not_stand_for_what_is_said_now() {
    let world = World::new().await;
    let mut ending = global("the lift is broken");
    ending.expires_at = Some(world.clock.now().plus_seconds(10));
    let ended = add(&world, ending).await;
    let replaced = add(&world, global("the code is 12")).await;
    let newer = add(&world, global("the code is 13")).await;
    let put_away = add(&world, global("the boiler is red")).await;
    world
        .ok(change(newer.id, MemoryChange::Supersede(vec![replaced.id])))
        .await;
    world.sql("UPDATE memories SET state = 'archived', archived_from = 'active' WHERE text LIKE '%boiler%'",
    )
    .await;
    world.clock.advance_millis(11_000);
    for old in [ended, replaced, put_away] {
        let (now, known) = world.ok(adding(global(&old.text))).await;
        assert!(!known, "{}", old.text);
        assert_ne!(now.id, old.id);
        assert_eq!(now.state, MemoryState::Active, "{}", old.text);
    }
}

#[tokio::test]
async fn saying_it_twice_is_not_accepting_it() {
    let world = World::new().await;
    let proposed = |text: &str| {
        let mut item = global(text);
        item.proposed = true;
        item
    };
    let first = add(&world, proposed("tea at five")).await;
    let (again, known) = world.ok(adding(proposed("Tea at  five"))).await;
    assert!(known);
    assert_eq!((again.id, again.state), (first.id, MemoryState::Proposed));
    let (now, known) = world.ok(adding(global("tea at five"))).await;
    assert!(known);
    assert_eq!((now.id, now.state), (first.id, MemoryState::Active));
}

#[tokio::test]
async fn only_what_holds_now_is_recalled() {
    let world = World::new().await;
    let session_id = world.ingest("chat").await.session_id.unwrap();
    let mut waiting = global("the lamp waits");
    waiting.proposed = true;
    add(&world, waiting).await;
    let mut ending = global("the lamp was borrowed");
    ending.expires_at = Some(world.clock.now().plus_seconds(10));
    add(&world, ending).await;
    let replaced = add(&world, global("the lamp was blue")).await;
    let shown = add(&world, global("the lamp is red")).await;
    let supersede = MemoryChange::Supersede(vec![replaced.id]);
    world.ok(change(shown.id, supersede)).await;
    add(&world, global("the lamp is in the attic")).await;
    world.sql("UPDATE memories SET state = 'archived', archived_from = 'active' WHERE text LIKE '%attic'",
    )
    .await;
    world.clock.advance_millis(11_000);
    let place = RecallContext {
        session_id,
        channel: "team".to_owned(),
        now: world.clock.now(),
    };
    let same = ["waits", "was borrowed", "was blue", "is in the attic"];
    let (recalled, found, newest, equal) = world
        .store
        .read(move |reader| {
            let limits = RecallLimits {
                pins: 5,
                facts: 0,
                hits: 5,
            };
            let equal = same.map(|end| reader.recalled_equal(&place, &format!("the lamp {end}")));
            Ok((
                reader.recall(&place, "which lamp?", None, limits)?,
                reader.search_recalled(&place, "lamp", None, 20)?,
                reader.search_recalled(&place, "", None, 20)?,
                equal,
            ))
        })
        .await
        .unwrap();
    let hits = recalled.hits.iter().map(|memory| &*memory.text);
    assert_eq!(hits.collect::<Vec<_>>(), ["the lamp is red"]);
    for list in [&found, &newest] {
        let texts: Vec<&str> = list.iter().map(|hit| &*hit.memory.text).collect();
        assert_eq!(texts, ["the lamp is red"]);
    }
    for known in equal {
        assert_eq!(known.unwrap(), None);
    }
}

#[tokio::test]
async fn what_waits_or_was_put_aside_allows_less() {
    let world = World::new().await;
    let mut both = global("tea at five");
    (both.proposed, both.pinned) = (true, true);
    let why = world.illegal(adding(both)).await;
    assert!(why.contains("cannot be pinned"), "{why}");
    let mut waiting = global("tea at six");
    waiting.proposed = true;
    let waiting = add(&world, waiting).await;
    let active = add(&world, global("tea at seven")).await;
    let away = add(&world, global("tea at eight")).await;
    world.sql("UPDATE memories SET state = 'archived', archived_from = 'active' WHERE text LIKE '%eight'",
    )
    .await;
    let edit = MemoryChange::Edit {
        text: Some("tea at nine".to_owned()),
        kind: None,
        expires_at: None,
    };
    for (id, what, expected) in [
        (waiting.id, MemoryChange::Pin(true), "accept it first"),
        (
            waiting.id,
            MemoryChange::Supersede(vec![active.id]),
            "cannot be put in place of others",
        ),
        (away.id, edit, "cannot be edited"),
        (away.id, MemoryChange::Pin(true), "cannot be pinned"),
        (away.id, MemoryChange::Accept, "cannot be accepted"),
        (
            active.id,
            MemoryChange::Supersede(vec![away.id]),
            "cannot be replaced",
        ),
    ] {
        let why = world.illegal(change(id, what)).await;
        assert!(why.contains(expected), "{expected}: {why}");
    }
    assert_eq!(one(&world, waiting.id).await.state, MemoryState::Proposed);
    assert_eq!(one(&world, active.id).await.state, MemoryState::Active);
    let away = one(&world, away.id).await;
    assert_eq!(
        (away.state, &*away.text),
        (MemoryState::Archived, "tea at eight")
    );
}

#[tokio::test]
async fn the_embedding_of_a_text_goes_with_the_text() {
    let world = World::new().await;
    let edited = add(&world, global("the port is 80")).await;
    let forgotten = add(&world, global("the port is 81")).await;
    let kept = add(&world, global("the port is 82")).await;
    world.sql("INSERT INTO memory_vectors SELECT id, 'local/e', 1, digest, x'0000803f', 1 FROM memories",
    )
    .await;
    let expires_at = Some(world.clock.now().plus_seconds(60));
    let edit = |text: Option<&str>| MemoryChange::Edit {
        text: text.map(str::to_owned),
        kind: None,
        expires_at,
    };
    // Another end is not another text.
    world.ok(change(kept.id, edit(None))).await;
    assert_eq!(embeddings(&world).await, 3);
    world
        .ok(change(edited.id, edit(Some("the port is 8080"))))
        .await;
    assert_eq!(embeddings(&world).await, 2);
    let (id, by) = (forgotten.id, by("anna"));
    world.ok(DeleteMemory { id, by }).await;
    assert_eq!(embeddings(&world).await, 1);
    world.sound().await;
}

/// A turn of somebody in a conversation, ended.
async fn turn_of(world: &World, who: &str, conversation: &str) -> ContinuationId {
    let mut said = turn(conversation, None);
    said.origin.requester = Requester {
        id: who.to_owned(),
        display: "somebody".to_owned(),
        person: None,
    };
    let session = world.ok(said).await.session_id.unwrap();
    let continuation = world.claim(session).await.unwrap();
    world.finish(continuation, 0).await;
    continuation
}

#[tokio::test]
async fn every_kind_of_trace_is_a_person_s_and_nothing_of_others_is() {
    let world = World::new().await;
    // In a group, where Ben was too; in the chat with the bot alone, where a routine speaks to them.
    let hers = turn_of(&world, "telegram:1", "-100").await;
    let his = turn_of(&world, "telegram:2", "-100").await;
    let to_her = turn_of(&world, "routine:daily", "1").await;
    let to_him = turn_of(&world, "routine:daily", "11").await;
    let session = async |id: ContinuationId| {
        let turn = world.store.read(move |reader| reader.turn(id)).await;
        turn.unwrap().session_id
    };
    let mut about = global("about her");
    about.person_id = Some("telegram:1".to_owned());
    let mut by_her = global("written by her");
    by_her.author_id = "telegram:1".to_owned();
    let mut from = global("from her turn");
    from.source = Some(hers);
    let mut from_his = global("from his turn");
    from_his.source = Some(his);
    let mut about_another = global("about another");
    about_another.person_id = Some("telegram:11".to_owned());
    let mut expected = BTreeSet::new();
    for item in [
        about,
        by_her,
        from,
        in_session(session(to_her).await, "of her own chat"),
    ] {
        expected.insert(add(&world, item).await.id);
    }
    for item in [
        from_his,
        about_another,
        in_session(session(his).await, "of the group"),
        in_session(session(to_him).await, "of his own chat"),
    ] {
        add(&world, item).await;
    }
    world
        .store
        .with_writer(|conn| {
            let id = |n: u8| [n; 16];
            for (n, conversation) in [(1, "1"), (2, "1/7"), (3, "11"), (4, "-100")] {
                conn.execute(
                    "INSERT INTO routines (id, name, schedule, prompt, channel, conversation, budgets,
                        autonomy_ceiling, missed, by_label, version, created_at, updated_at)
                     VALUES (?1, ?2, 'every 1d', 'p', 'team', ?3, '{}', 'supervised', 'skip', 'a', 1, 1, 1)",
                    (id(n), format!("routine {n}"), conversation),
                )
                .unwrap();
                conn.execute(
                    "INSERT INTO outbox (id, channel, conversation, class, state, part, parts, text, created_at,
                        updated_at)
                     VALUES (?1, 'team', ?2, 'notice', 'pending', 0, 1, 'hello', 1, 1)",
                    (id(n), conversation),
                )
                .unwrap();
            }
            for (n, principal) in [(1, "telegram:1"), (2, "telegram:11")] {
                conn.execute(
                    "INSERT INTO inbox VALUES (?1, 'team', ?2, 'a', zeroblob(32), 'ignored', NULL, NULL, 1)",
                    (id(n), principal),
                )
                .unwrap();
            }
        })
        .await
        .unwrap();
    let traces = world.store.traces("telegram:1").await.unwrap();
    let found: BTreeSet<MemoryId> = traces.memories.iter().copied().collect();
    assert_eq!(found, expected);
    let turns: BTreeSet<[u8; 16]> = traces.turns.iter().map(|turn| turn.id).collect();
    assert_eq!(turns, BTreeSet::from([hers.to_bytes(), to_her.to_bytes()]));
    assert_eq!(traces.sessions, [session(to_her).await.to_bytes()]);
    assert_eq!(traces.shared, [session(hers).await.to_bytes()]);
    let last = |ids: &[[u8; 16]]| -> BTreeSet<u8> { ids.iter().map(|id| id[15]).collect() };
    assert_eq!(last(&traces.routines), BTreeSet::from([1, 2]));
    assert_eq!(last(&traces.inbox), BTreeSet::from([1]));
    assert_eq!(traces.outbox.len(), 2);
    assert!(!traces.sending && traces.open.is_empty());
    // Events of her turn, and everything of the session that goes.
    let (turn, whole) = (hers.to_bytes(), session(to_her).await.to_bytes());
    let expected = world
        .store
        .with_writer(move |conn| {
            conn.prepare("SELECT seq FROM events WHERE continuation_id = ?1 OR session_id = ?2")
                .unwrap()
                .query_map([turn, whole], |row| row.get(0))
                .unwrap()
                .collect::<Result<BTreeSet<u64>, _>>()
                .unwrap()
        })
        .await
        .unwrap();
    assert!(!expected.is_empty());
    let events: BTreeSet<u64> = traces.events.iter().copied().collect();
    assert_eq!(events, expected);
}

#[tokio::test]
async fn what_is_imported_has_its_bounds() {
    let home = Home::new("");
    let daemon = home.daemon();
    let item = |more: serde_json::Value| {
        let mut item = json!({ "place": { "scope": "global" }, "text": "tea at five" });
        for (name, value) in more.as_object().unwrap() {
            item[name.as_str()] = value.clone();
        }
        json!({ "items": [item] })
    };
    for (body, says) in [
        (json!({ "items": [] }), "1 to 10000"),
        (item(json!({ "author_id": "a".repeat(256) })), "author_id"),
        (item(json!({ "author_id": "" })), "author_id"),
        (item(json!({ "person_id": "p".repeat(256) })), "person_id"),
        (item(json!({ "confidence": 1.01 })), "confidence"),
    ] {
        let (status, problem) = daemon
            .request("POST", "/v1/memory/import", Some(body))
            .await;
        assert_eq!(status, 400, "{problem}");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains(says), "{detail}");
    }
    let listed = daemon.get("/v1/memory").await;
    assert_eq!(listed["items"], json!([]));
    // Nothing comes from the future: it would be the newest for ever.
    let future = item(json!({ "created_at": "2999-01-01T00:00:00Z" }));
    let (status, done) = daemon
        .request("POST", "/v1/memory/import", Some(future))
        .await;
    assert_eq!((status, &done["added"]), (200, &json!(1)), "{done}");
    let listed = daemon.get("/v1/memory").await;
    let kept = &listed["items"][0];
    assert!(kept["created_at"].as_str().unwrap() < "2999", "{kept:#}");
    let id = kept["id"].as_str().unwrap();
    let others = vec![id; 101];
    let path = format!("/v1/memory/{id}/supersede");
    let (status, problem) = daemon
        .request("POST", &path, Some(json!({ "others": others })))
        .await;
    assert_eq!(status, 400, "{problem}");
    let (status, _) = daemon
        .request("GET", "/v1/memory/search?q=tea&limit=201", None)
        .await;
    assert_eq!(status, 400);
}
