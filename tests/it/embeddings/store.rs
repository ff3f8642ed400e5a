//! Vectors in the database: only of a text that is there, and only of those a search may see.

use leverframe::clock::Timestamp;
use leverframe::protocol::budget::Limit;
use leverframe::protocol::memory::{Memory, MemoryFilter};
use leverframe::protocol::session::Usage;
use leverframe::store::check::check;
use leverframe::store::commands::change_memory::MemoryChange;
use leverframe::store::commands::embed::{
    EmbeddingCall, NewVector, PutVectors, ReserveEmbedding, SettleEmbedding,
};
use leverframe::store::input::{BudgetKind, SharedLimits};
use leverframe::store::queries::memories::RecallLimits;
use leverframe::store::queries::memory_rows::RecallContext;
use leverframe::store::vectors::{Meaning, normalised};

use crate::embeddings::letters;
use crate::memory_data::world::{add, change, global, in_channel, in_session};
use crate::support::world::World;

pub(crate) const MODEL: &str = "local/bag";

fn means(text: &str) -> Vec<f32> {
    normalised(letters(text)).unwrap()
}

fn meaning(text: &str) -> Meaning {
    Meaning {
        model: MODEL.to_owned(),
        vector: means(text),
        least: 0.95,
    }
}

/// Everything without an embedding, in pages of so many.
pub(crate) async fn waiting(world: &World, most: usize) -> Vec<NewVector> {
    let now = world.clock.now();
    let mut after = (Timestamp(i64::MIN), 0);
    let mut all = Vec::new();
    for _ in 0..1000 {
        let (found, next) = world
            .store
            .read(move |reader| reader.unembedded(MODEL, now, after, most))
            .await
            .unwrap();
        assert!(found.len() <= most);
        all.extend(found.into_iter().map(|text| NewVector {
            id: text.id,
            digest: text.digest,
            vector: means(&text.text),
        }));
        match next {
            Some(next) => after = next,
            None => return all,
        }
    }
    panic!("it goes on for ever");
}

async fn put(world: &World, vectors: Vec<NewVector>) -> u64 {
    let model = MODEL.to_owned();
    world.ok(PutVectors { model, vectors }).await
}

async fn found(world: &World, text: &'static str) -> Vec<String> {
    let now = world.clock.now();
    let filter = MemoryFilter::default();
    let found = world
        .store
        .read(move |reader| reader.search_memories(text, Some(&meaning(text)), &filter, 20, now))
        .await
        .unwrap();
    found.into_iter().map(|hit| hit.memory.text).collect()
}

fn texts(memories: &[Memory]) -> Vec<&str> {
    memories.iter().map(|memory| memory.text.as_str()).collect()
}

#[tokio::test]
async fn every_text_is_found_once_in_pages_of_any_size() {
    let world = World::new().await;
    for n in 0..7 {
        add(&world, global(&format!("fact {n} about {}", "x".repeat(n)))).await;
    }
    let mut proposed = global("not yet");
    proposed.proposed = true;
    add(&world, proposed).await;
    let mut over = global("over");
    over.expires_at = Some(world.clock.now());
    add(&world, over).await;
    for most in [1, 2, 3, 7, 64] {
        let mut ids: Vec<_> = waiting(&world, most)
            .await
            .iter()
            .map(|new| new.id)
            .collect();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), 7, "pages of {most}");
    }
    // Those of another model are compared with nothing.
    let vectors = waiting(&world, 64).await;
    let model = "local/other".to_owned();
    assert_eq!(world.ok(PutVectors { model, vectors }).await, 7);
    let (now, filter) = (world.clock.now(), MemoryFilter::default());
    let meant = world
        .store
        .read(move |reader| {
            let meaning = meaning("fact about");
            reader.search_memories("tcaf tuoba", Some(&meaning), &filter, 20, now)
        })
        .await
        .unwrap();
    assert!(meant.is_empty(), "{meant:?}");
    assert_eq!(put(&world, waiting(&world, 64).await).await, 7);
    assert!(waiting(&world, 64).await.is_empty());
    world.sound().await;
}

#[tokio::test]
async fn a_vector_of_another_text_is_neither_kept_nor_compared() {
    let world = World::new().await;
    let memory = add(&world, global("silent")).await;
    let made = waiting(&world, 64).await;
    let edit = |text: &str| MemoryChange::Edit {
        text: Some(text.to_owned()),
        kind: None,
        expires_at: None,
    };
    // It was edited while its embedding was made.
    world.ok(change(memory.id, edit("mountain"))).await;
    assert_eq!(put(&world, made.clone()).await, 0);
    assert!(found(&world, "tinsel").await.is_empty());
    world.ok(change(memory.id, edit("silent"))).await;
    assert_eq!(put(&world, made).await, 1);
    assert_eq!(found(&world, "tinsel").await, ["silent"]);
    world.ok(change(memory.id, edit("mountain"))).await;
    assert_eq!(waiting(&world, 64).await.len(), 1);

    // What no command does is seen by the check, and is not found.
    let digest = [7_u8; 32];
    let vector = leverframe::store::vectors::to_bytes(&means("tinsel"));
    world
        .store
        .with_writer(move |conn| {
            conn.execute(
                "INSERT INTO memory_vectors VALUES (?1, ?2, 26, ?3, ?4, 1)",
                (memory.id.to_bytes(), MODEL, digest, vector),
            )
            .unwrap()
        })
        .await
        .unwrap();
    assert!(found(&world, "tinsel").await.is_empty());
    let wrong = world.store.read(check).await.unwrap();
    assert_eq!(wrong.len(), 1, "{wrong:?}");
    assert!(
        wrong[0].detail.starts_with("embedding of a memory"),
        "{wrong:?}"
    );
    world
        .store
        .with_writer(|conn| {
            conn.execute(
                "UPDATE memory_vectors SET vector = zeroblob(104), digest = (SELECT digest FROM memories)",
                [],
            )
            .unwrap()
        })
        .await
        .unwrap();
    let wrong = world.store.read(check).await.unwrap();
    assert_eq!(wrong.len(), 1, "{wrong:?}");
    assert!(wrong[0].detail.contains("not of length 1"), "{wrong:?}");
}

#[tokio::test]
async fn a_conversation_finds_by_meaning_what_it_may_see() {
    let world = World::new().await;
    let (mine, _) = world.running("one").await;
    let (other, _) = world.running("two").await;
    add(&world, in_session(mine, "silent")).await;
    add(&world, in_session(other, "listen")).await;
    let everywhere = add(&world, global("tinsel")).await;
    add(&world, in_channel("mountain")).await;
    add(&world, in_channel("the newest fact of the channel")).await;
    put(&world, waiting(&world, 64).await).await;
    let place = RecallContext {
        session_id: mine,
        channel: "team".to_owned(),
        now: world.clock.now(),
    };
    let asked = place.clone();
    let seen = world
        .store
        .read(move |reader| reader.search_recalled(&asked, "enlist", Some(&meaning("enlist")), 8))
        .await
        .unwrap();
    let mut seen: Vec<_> = seen.into_iter().map(|hit| hit.memory.text).collect();
    seen.sort();
    assert_eq!(seen, ["silent", "tinsel"]);

    // A context has it without being asked.
    let limits = RecallLimits {
        pins: 5,
        facts: 0,
        hits: 5,
    };
    world
        .ok(change(everywhere.id, MemoryChange::Pin(true)))
        .await;
    let recalled = world
        .store
        .read(move |reader| reader.recall(&place, "enlist", Some(&meaning("enlist")), limits))
        .await
        .unwrap();
    assert_eq!(texts(&recalled.pins), ["tinsel"]);
    assert_eq!(texts(&recalled.hits), ["silent"]);
}

#[tokio::test]
async fn calls_stay_within_the_budgets_of_the_day_and_count_what_they_used() {
    let world = World::new().await;
    let usage = |input_tokens, cost_usd| Usage {
        input_tokens,
        cost_usd,
        ..Usage::default()
    };
    let call = EmbeddingCall {
        channel: "team".to_owned(),
        model: MODEL.to_owned(),
        day: 20_000,
        estimate: usage(60, Some(0.5)),
    };
    let limit = |max_tokens, max_cost_usd| Limit {
        max_tokens,
        max_cost_usd,
    };
    let none = limit(None, None);
    let reserve = |channel, all| ReserveEmbedding {
        call: call.clone(),
        limits: SharedLimits {
            day: call.day,
            session: limit(Some(0), Some(0.0)),
            channel,
            all,
        },
    };
    let spent = async || {
        let row: (u64, u64, u64, f64, u64) = world
            .store
            .with_writer(|conn| {
                conn.query_row(
                    "SELECT total(calls), total(failed), total(input_tokens), total(cost_usd), total(unpriced_tokens)
                     FROM spend",
                    [],
                    |row| {
                        Ok((
                            row.get::<_, f64>(0)? as u64,
                            row.get::<_, f64>(1)? as u64,
                            row.get::<_, f64>(2)? as u64,
                            row.get(3)?,
                            row.get::<_, f64>(4)? as u64,
                        ))
                    },
                )
                .unwrap()
            })
            .await
            .unwrap();
        row
    };
    // No turn makes it: the limit of a session is not asked.
    assert_eq!(world.ok(reserve(limit(Some(100), None), none)).await, None);
    assert_eq!(spent().await, (1, 0, 60, 0.5, 0));
    for (channel, all, budget) in [
        (limit(Some(100), None), none, BudgetKind::ChannelTokens),
        (limit(None, Some(0.9)), none, BudgetKind::ChannelCost),
        (none, limit(Some(119), None), BudgetKind::DayTokens),
        (none, limit(None, Some(0.99)), BudgetKind::DayCost),
    ] {
        let stop = world.ok(reserve(channel, all)).await.unwrap();
        assert_eq!(stop.budget, budget);
    }
    assert_eq!(
        spent().await,
        (1, 0, 60, 0.5, 0),
        "a refusal writes nothing"
    );
    let settle = |usage, failed| SettleEmbedding {
        call: call.clone(),
        usage,
        failed,
    };
    world.ok(settle(usage(25, Some(0.25)), false)).await;
    assert_eq!(spent().await, (1, 0, 25, 0.25, 0));
    // There is room again.
    assert_eq!(world.ok(reserve(limit(Some(100), None), none)).await, None);
    world.ok(settle(usage(0, None), true)).await;
    let (calls, failed, tokens, ..) = spent().await;
    assert_eq!((calls, failed, tokens), (2, 1, 25));
}
