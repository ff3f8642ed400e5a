//! Search in 100 000 facts, and what a context takes from them (limit of the search: 5 ms at p50).
//!
//! And how long a person waits for `leverframe memory search`, from the start of the command to its end.
//!
//! `LEVERFRAME_BENCH_FACTS` makes the table smaller or larger.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::redundant_closure,
    missing_docs,
    dead_code
)] // a bench is a test, and uses a part of the tests' world

#[path = "harness/daemon.rs"]
mod daemon;
mod harness;
#[path = "../tests/it/support/world.rs"]
mod world;

use std::time::Duration;

use leverframe::protocol::enums::{MemoryAuthor, MemoryKind};
use leverframe::protocol::ids::MemoryId;
use leverframe::protocol::memory::{MemoryFilter, MemoryTarget};
use leverframe::store::commands::add_memory::NewMemory;
use leverframe::store::commands::import_memories::ImportMemories;
use leverframe::store::queries::memories::RecallLimits;
use leverframe::store::queries::memory_rows::RecallContext;

use crate::daemon::{Daemon, load};
use crate::world::{World, by};

/// The most that a search may take, at p50.
const LIMIT: Duration = Duration::from_millis(5);

const PEOPLE: [&str; 16] = [
    "Anna", "Bert", "Carla", "Dora", "Emil", "Fritz", "Gerda", "Hans", "Ida", "Jan", "Karl",
    "Lena", "Mona", "Nils", "Olga", "Paul",
];
const THINGS: [&str; 24] = [
    "deployment",
    "backup",
    "printer",
    "invoice",
    "server",
    "meeting",
    "garden",
    "keyboard",
    "contract",
    "database",
    "coffee",
    "window",
    "calendar",
    "password",
    "holiday",
    "report",
    "customer",
    "budget",
    "release",
    "ticket",
    "mirror",
    "cable",
    "router",
    "kitchen",
];
const VERBS: [&str; 8] = [
    "prefers",
    "moved",
    "approved",
    "forgot",
    "ordered",
    "repaired",
    "postponed",
    "renamed",
];

/// What is searched for.
const SEARCHES: [(&str, &str); 9] = [
    ("one rare word", "E-77777?"),
    ("a question", "what did Carla order for project 1234?"),
    ("two common words", "router keyboard"),
    ("one common word", "the"),
    ("the beginning of a word", "deploy"),
    ("nothing to be found", "zebra crossing"),
    ("two CJK characters, in every tenth", "\u{5907}\u{4efd}"),
    ("two CJK characters, in two hundred", "\u{55b7}\u{6cc9}"),
    (
        "a question in Chinese",
        "\u{4ec0}\u{4e48}\u{65f6}\u{5019}\u{5907}\u{4efd}\u{55b7}\u{6cc9}",
    ),
];

/// A fact as models write them; words of all degrees of rarity.
fn fact(n: usize) -> NewMemory {
    let pick = |list: &[&'static str], by: usize| list[(n / by) % list.len()];
    // Every tenth is about a backup, in Chinese; every five-hundredth about that of a fountain.
    let chinese = format!(
        "{}\u{5728}\u{7b2c}{}\u{5929}\u{5b8c}\u{6210}\u{4e86}{}\u{7684}\u{5907}\u{4efd}",
        pick(&PEOPLE, 1),
        n % 365,
        if n % 500 == 3 {
            "\u{55b7}\u{6cc9}"
        } else {
            "\u{6570}\u{636e}\u{5e93}"
        }
    );
    let text = format!(
        "{} {} the {} of the {} in project {} on day {}, see E-{n}",
        pick(&PEOPLE, 1),
        pick(&VERBS, 3),
        pick(&THINGS, 7),
        pick(&THINGS, 11),
        (n * 7919) % 2000,
        n % 365
    );
    NewMemory {
        id: MemoryId::generate(),
        place: MemoryTarget::Global,
        kind: MemoryKind::Fact,
        text: if n % 10 == 3 { chinese } else { text },
        author: MemoryAuthor::Model,
        author_id: "local/m".to_owned(),
        person_id: None,
        source: None,
        message_ref: None,
        confidence: 0.8,
        taint: Vec::new(),
        pinned: false,
        proposed: false,
        created_at: None,
        expires_at: None,
    }
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let facts: usize = std::env::var("LEVERFRAME_BENCH_FACTS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(100_000);
    let (world, session_id) = runtime.block_on(async {
        let world = World::new().await;
        for from in (0..facts).step_by(5_000) {
            let items = (from..facts.min(from + 5_000)).map(fact).collect();
            world
                .ok(ImportMemories {
                    items,
                    by: by("bench"),
                })
                .await;
        }
        let session_id = world.ingest("chat").await.session_id.unwrap();
        (world, session_id)
    });
    println!("load {}", load());
    let now = world.clock.now();
    let mut worst = Duration::ZERO;
    for (what, text) in SEARCHES {
        let median = harness::measure(&format!("search of {facts}: {what}"), || {
            runtime.block_on(async {
                world
                    .store
                    .read_here(|reader| {
                        reader.search_memories(text, None, &MemoryFilter::default(), 20, now)
                    })
                    .await
                    .unwrap()
            })
        });
        worst = worst.max(median);
    }
    let place = RecallContext {
        session_id,
        channel: "team".to_owned(),
        now,
    };
    let limits = RecallLimits {
        pins: 20,
        facts: 20,
        hits: 8,
    };
    harness::measure(&format!("a context of {facts}"), || {
        runtime.block_on(async {
            world
                .store
                .read_here(|reader| reader.recall(&place, "when is the release?", None, limits))
                .await
                .unwrap()
        })
    });
    println!(
        "the slowest of these searches takes {worst:?} at p50 (limit {LIMIT:?}): {}; load {}",
        if worst <= LIMIT { "held" } else { "MISSED" },
        load()
    );
    as_a_person(&runtime, world);
    assert!(worst <= LIMIT);
}

/// The command, against a daemon over the same memories.
fn as_a_person(runtime: &tokio::runtime::Runtime, world: World) {
    runtime.block_on(world.store.clone().close());
    let daemon = Daemon::start(&world.dir);
    for (what, text) in SEARCHES {
        let mut times: Vec<Duration> = (0..20)
            .map(|_| daemon.command(&["memory", "search", text]).1)
            .collect();
        times.sort_unstable();
        println!(
            "`memory search`, {what}: {:?}, at most {:?}",
            times[10], times[19]
        );
    }
}
