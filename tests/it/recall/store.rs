//! The store's side of it: what a session has read stays with it, and a write is one write however often it comes.

use leverframe::protocol::memory::MemoryTarget;
use leverframe::store::commands::record_memory_use::RecordMemoryUse;
use leverframe::store::commands::taint_session::TaintSession;
use proptest::prelude::*;

use crate::memory_data::world::{add, adding, global, new};
use crate::support::world::World;

/// Random walks beside a model: what was read before stays, in order, none twice, sixteen at most.
#[test]
fn what_a_session_has_read_stays_with_it() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: 20,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let reads = prop::collection::vec(prop::collection::vec(0..24_u8, 0..4), 1..12);
    runner
        .run(&reads, |reads| {
            runtime.block_on(async {
                let world = World::new().await;
                let session_id = world.ingest("chat").await.session_id.unwrap();
                let other = world.ingest("other").await.session_id.unwrap();
                let fact = add(&world, global("tea at five")).await;
                let mut model: Vec<String> = Vec::new();
                for read in &reads {
                    let taint: Vec<String> = read.iter().map(|n| format!("page {n}")).collect();
                    for entry in &taint {
                        if model.len() < 16 && !model.contains(entry) {
                            model.push(entry.clone());
                        }
                    }
                    let used = RecordMemoryUse { ids: vec![fact.id] };
                    world.ok((used, TaintSession { session_id, taint })).await;
                    let held = world
                        .store
                        .read(move |reader| reader.session_taint(session_id))
                        .await
                        .unwrap();
                    assert_eq!(held, model);
                }
                let clean = world
                    .store
                    .read(move |reader| reader.session_taint(other))
                    .await;
                assert_eq!(clean.unwrap(), Vec::<String>::new());
                let fact = world.store.read(move |reader| reader.memory(fact.id)).await;
                assert_eq!(fact.unwrap().uses, reads.len() as u64);
                world.sound().await;
            });
            Ok(())
        })
        .unwrap();
}

#[tokio::test]
async fn the_same_write_again_changes_nothing() {
    let world = World::new().await;
    let session_id = world.ingest("chat").await.session_id.unwrap();
    let item = new(MemoryTarget::Session { session_id }, "tea at five");
    let (first, known) = world.ok(adding(item.clone())).await;
    assert!(!known);
    let mut other = item.clone();
    other.text = "tea at six".to_owned();
    let (again, known) = world.ok(adding(other)).await;
    assert!(known);
    assert_eq!((again.id, again.text), (item.id, first.text));
}
