//! What a model is sent, of a session with 10 000 messages: reading its end, and fitting it into a window.
//!
//! `LEVERFRAME_BENCH_EXCHANGES` makes the session shorter.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::redundant_closure,
    missing_docs,
    dead_code
)] // a bench is a test, and uses a part of the tests' world

mod harness;
#[path = "../tests/it/store/world.rs"]
mod world;

use leverframe::engine::context::build::{Material, MemoryContext, Target, build};
use leverframe::engine::context::exchange::Exchange;
use leverframe::engine::context::prefix::Prefix;
use leverframe::engine::context::{MOST_BEYOND, exchanges};
use leverframe::engine::turn::fold;
use leverframe::store::commands::claim::Claim;

use crate::world::World;

/// Windows of models, small to large.
const WINDOWS: [u64; 3] = [8_192, 128_000, 1_000_000];

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let exchanges_before: usize = std::env::var("LEVERFRAME_BENCH_EXCHANGES")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(5_000);
    let (world, session, now) = runtime.block_on(async {
        let world = World::new().await;
        for _ in 0..exchanges_before {
            let session_id = world.ingest("chat").await.session_id.unwrap();
            let epoch = world.epoch();
            let claimed = world.ok(Claim { session_id, epoch }).await.unwrap();
            world.finish(claimed, 0).await;
        }
        let (session, now) = world.running("chat").await;
        (world, session, now)
    });
    let prefix = Prefix::new("team", None, false, &[]);
    for window in WINDOWS {
        let wanted = exchanges(6, window) + MOST_BEYOND;
        harness::measure(
            &format!("context: {wanted} of {exchanges_before} exchanges"),
            || {
                runtime.block_on(async {
                    let read = world.store.read_here(move |reader| {
                        Ok((reader.turn(now)?, reader.history(session, now, wanted)?))
                    });
                    let (rows, history) = read.await.unwrap();
                    let history: Vec<Exchange> = history.into_iter().map(fold::earlier).collect();
                    let material = Material {
                        prefix: &prefix,
                        memory: &MemoryContext::default(),
                        history: &history,
                        unread: 0,
                        current: &fold::current(&rows),
                        ratio: 1.0,
                    };
                    let target = Target {
                        model: "one/m",
                        window,
                        max_output: 4_096,
                        tools: true,
                        exchanges: wanted as usize,
                        history: 0,
                        compact: false,
                    };
                    build(&material, &target).unwrap()
                })
            },
        );
    }
}
