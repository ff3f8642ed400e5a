//! Random walks of the memory's commands beside a model of a few lines: both refuse the same, and hold the same.

use std::collections::BTreeMap;

use leverframe::protocol::enums::MemoryState;
use leverframe::protocol::ids::MemoryId;
use leverframe::protocol::memory::{MemoryFilter, MemoryTarget};
use leverframe::protocol::snapshot::PageRequest;
use leverframe::store::commands::change_memory::{DeleteMemory, MemoryChange};
use leverframe::store::commands::embed::{NewVector, PutVectors};
use leverframe::store::commands::import_memories::ImportMemories;
use leverframe::store::commands::record_memory_use::RecordMemoryUse;
use leverframe::text::fold::fold;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use crate::embeddings::store::{MODEL, waiting};
use crate::memory_data::world::{adding, change, new};
use crate::support::world::{World, by};

#[derive(Debug, Clone)]
enum Step {
    Add {
        place: usize,
        text: usize,
        proposed: bool,
        pinned: bool,
    },
    Import {
        place: usize,
        texts: Vec<usize>,
    },
    Edit {
        which: usize,
        text: usize,
    },
    Pin {
        which: usize,
        pinned: bool,
    },
    Accept {
        which: usize,
    },
    Supersede {
        which: usize,
        others: Vec<usize>,
    },
    Forget {
        which: usize,
    },
    Use {
        which: usize,
    },
    /// Looks for what has no embedding.
    Look,
    /// Keeps the embeddings of what was found then, whatever happened to it since.
    Embed,
}

/// Two of them are equal, one is empty, one is too long.
const TEXTS: [&str; 6] = ["tea", " TEA ", "coffee", "", "x", "tea and coffee"];

fn text(n: usize) -> String {
    if TEXTS[n] == "x" {
        return "x".repeat(5000);
    }
    TEXTS[n].to_owned()
}

fn place(n: usize) -> MemoryTarget {
    match n {
        0 => MemoryTarget::Global,
        1 => MemoryTarget::Channel {
            channel: "team".to_owned(),
        },
        _ => MemoryTarget::Channel {
            channel: "nowhere".to_owned(),
        },
    }
}

fn step() -> impl Strategy<Value = Step> {
    let (which, text, place) = (0..6_usize, 0..TEXTS.len(), 0..3_usize);
    prop_oneof![
        4 => (place.clone(), text.clone(), any::<bool>(), prop::bool::weighted(0.3))
            .prop_map(|(place, text, proposed, pinned)| Step::Add { place, text, proposed, pinned }),
        1 => (place, prop::collection::vec(text.clone(), 1..4)).prop_map(|(place, texts)| Step::Import { place, texts }),
        1 => (which.clone(), text).prop_map(|(which, text)| Step::Edit { which, text }),
        2 => (which.clone(), any::<bool>()).prop_map(|(which, pinned)| Step::Pin { which, pinned }),
        2 => which.clone().prop_map(|which| Step::Accept { which }),
        2 => (which.clone(), prop::collection::vec(0..6_usize, 1..3))
            .prop_map(|(which, others)| Step::Supersede { which, others }),
        1 => which.clone().prop_map(|which| Step::Forget { which }),
        1 => which.prop_map(|which| Step::Use { which }),
        2 => Just(Step::Look),
        2 => Just(Step::Embed),
    ]
}

#[derive(Debug, Clone, PartialEq)]
struct Row {
    place: usize,
    text: String,
    state: MemoryState,
    pinned: bool,
    by: Option<MemoryId>,
    uses: u64,
}

/// Rows in the order in which they were made.
#[derive(Debug, Clone, Default)]
struct Model(Vec<(MemoryId, Row)>);

impl Model {
    fn id(&self, which: usize) -> Option<usize> {
        (!self.0.is_empty()).then(|| which % self.0.len())
    }

    /// None = refused.
    fn add(
        &mut self,
        id: MemoryId,
        at: usize,
        n: usize,
        proposed: bool,
        pinned: bool,
    ) -> Option<()> {
        let said = text(n).trim().to_owned();
        if said.is_empty() || said.len() > 4096 || (proposed && pinned) || at > 1 {
            return None;
        }
        let mut same: Vec<&mut Row> = self
            .0
            .iter_mut()
            .map(|(_, row)| row)
            .filter(|row| {
                row.place == at
                    && fold(&row.text) == fold(&said)
                    && matches!(row.state, MemoryState::Active | MemoryState::Proposed)
            })
            .collect();
        same.sort_by_key(|row| row.state.as_str());
        if let Some(row) = same.into_iter().next() {
            if !proposed && row.state == MemoryState::Proposed || pinned {
                row.state = MemoryState::Active;
                row.pinned |= pinned;
            }
            return Some(());
        }
        let state = if proposed {
            MemoryState::Proposed
        } else {
            MemoryState::Active
        };
        let row = Row {
            place: at,
            text: said,
            state,
            pinned,
            by: None,
            uses: 0,
        };
        self.0.push((id, row));
        Some(())
    }
}

async fn walk(steps: Vec<Step>) {
    let world = World::new().await;
    let mut model = Model::default();
    let mut looked: Vec<NewVector> = Vec::new();
    for step in steps {
        let before = model.clone();
        let (expected, done): (Option<()>, bool) = match &step {
            Step::Add {
                place: at,
                text: n,
                proposed,
                pinned,
            } => {
                let mut item = new(place(*at), &text(*n));
                (item.proposed, item.pinned) = (*proposed, *pinned);
                let expected = model.add(item.id, *at, *n, *proposed, *pinned);
                (expected, world.write(adding(item)).await.is_ok())
            }
            Step::Import { place: at, texts } => {
                let items: Vec<_> = texts.iter().map(|n| new(place(*at), &text(*n))).collect();
                let expected = items.iter().zip(texts).try_fold((), |(), (item, n)| {
                    model.add(item.id, *at, *n, false, false)
                });
                let import = ImportMemories {
                    items,
                    by: by("anna"),
                };
                (expected, world.write(import).await.is_ok())
            }
            Step::Edit { which, text: n } => {
                let Some(at) = model.id(*which) else { continue };
                let said = text(*n).trim().to_owned();
                let expected =
                    (!said.is_empty() && said.len() <= 4096).then(|| model.0[at].1.text = said);
                let edit = MemoryChange::Edit {
                    text: Some(text(*n)),
                    kind: None,
                    expires_at: None,
                };
                (
                    expected,
                    world.write(change(model.0[at].0, edit)).await.is_ok(),
                )
            }
            Step::Pin { which, pinned } => {
                let Some(at) = model.id(*which) else { continue };
                let row = &mut model.0[at].1;
                let expected =
                    (!pinned || row.state == MemoryState::Active).then(|| row.pinned = *pinned);
                (
                    expected,
                    world
                        .write(change(model.0[at].0, MemoryChange::Pin(*pinned)))
                        .await
                        .is_ok(),
                )
            }
            Step::Accept { which } => {
                let Some(at) = model.id(*which) else { continue };
                let row = &mut model.0[at].1;
                let expected =
                    (row.state == MemoryState::Proposed).then(|| row.state = MemoryState::Active);
                (
                    expected,
                    world
                        .write(change(model.0[at].0, MemoryChange::Accept))
                        .await
                        .is_ok(),
                )
            }
            Step::Supersede { which, others } => {
                let Some(at) = model.id(*which) else { continue };
                let others: Vec<usize> =
                    others.iter().filter_map(|other| model.id(*other)).collect();
                let (id, row) = model.0[at].clone();
                let allowed = row.state == MemoryState::Active && !others.contains(&at);
                let expected = allowed.then(|| {
                    for other in &others {
                        let other = &mut model.0[*other].1;
                        (other.state, other.pinned, other.by) =
                            (MemoryState::Superseded, false, Some(id));
                    }
                });
                let ids = others.iter().map(|other| model.0[*other].0).collect();
                (
                    expected,
                    world
                        .write(change(id, MemoryChange::Supersede(ids)))
                        .await
                        .is_ok(),
                )
            }
            Step::Forget { which } => {
                let Some(at) = model.id(*which) else { continue };
                let (id, _) = model.0.remove(at);
                (
                    Some(()),
                    world
                        .write(DeleteMemory { id, by: by("anna") })
                        .await
                        .is_ok(),
                )
            }
            Step::Use { which } => {
                let Some(at) = model.id(*which) else { continue };
                model.0[at].1.uses += 1;
                let ids = vec![model.0[at].0, MemoryId::generate()];
                (Some(()), world.write(RecordMemoryUse { ids }).await.is_ok())
            }
            Step::Look => {
                looked = waiting(&world, 2).await;
                continue;
            }
            Step::Embed => {
                let model = MODEL.to_owned();
                let vectors = looked.clone();
                (
                    Some(()),
                    world.write(PutVectors { model, vectors }).await.is_ok(),
                )
            }
        };
        assert_eq!(expected.is_some(), done, "{step:?} on {before:#?}");
        if expected.is_none() {
            model = before;
        }
        let held: BTreeMap<MemoryId, Row> = world
            .store
            .read(|reader| reader.memories(&MemoryFilter::default(), &PageRequest::default()))
            .await
            .unwrap()
            .items
            .into_iter()
            .map(|memory| {
                let row = Row {
                    place: usize::from(memory.channel.is_some()),
                    text: memory.text,
                    state: memory.state,
                    pinned: memory.pinned,
                    by: memory.superseded_by,
                    uses: memory.uses,
                };
                (memory.id, row)
            })
            .collect();
        assert_eq!(held, model.0.iter().cloned().collect(), "after {step:?}");
    }
    // Nothing that is recalled is left without an embedding once all are looked for.
    let vectors = waiting(&world, 64).await;
    let model = MODEL.to_owned();
    world.ok(PutVectors { model, vectors }).await;
    assert!(waiting(&world, 64).await.is_empty());
    world.sound().await;
}

#[test]
fn random_walks_hold_what_the_model_holds() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    TestRunner::new(ProptestConfig {
        cases: 60,
        failure_persistence: None,
        ..ProptestConfig::default()
    })
    .run(&prop::collection::vec(step(), 1..40), |steps| {
        runtime.block_on(walk(steps));
        Ok(())
    })
    .unwrap();
}
