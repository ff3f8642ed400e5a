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
#[path = "../tests/it/support/world.rs"]
mod world;

use leverframe::engine::context::build::{Material, MemoryContext, Target, build};
use leverframe::engine::context::exchange::Exchange;
use leverframe::engine::context::prefix::Prefix;
use leverframe::engine::context::{MOST_BEYOND, exchanges, history_tokens};
use leverframe::engine::turn::fold;
use leverframe::store::commands::claim::Claim;
use leverframe::store::queries::history::Exchange as HistoryExchange;

use crate::world::World;

/// Windows of models, small to large.
const WINDOWS: [u64; 3] = [8_192, 128_000, 1_000_000];

/// Percent of a window that exchanges may fill: `engine.history_share` by default.
const SHARE: u32 = 50;

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
            let claimed = world
                .ok(Claim {
                    session_id,
                    epoch,
                    floods: leverframe::store::input::ChannelFloods::default(),
                    except: Vec::new(),
                })
                .await
                .unwrap();
            world.finish(claimed, 0).await;
        }
        let (session, now) = world.running("chat").await;
        (world, session, now)
    });
    let prefix = Prefix::new("team", None, false, &[]);
    for window in WINDOWS {
        // As a model call reads them with the default settings: the least, and more while they fit their share.
        let least = exchanges(6, window);
        let tokens = history_tokens(SHARE, window);
        let wanted = move || {
            let (mut count, mut filled) = (0, 0);
            move |last: Option<&HistoryExchange>| {
                filled += last.map_or(0, fold::size);
                let wanted = count < least || (count < least + MOST_BEYOND && filled <= tokens);
                count += 1;
                wanted
            }
        };
        harness::measure(
            &format!("context: {tokens} tokens of {exchanges_before} exchanges"),
            || {
                runtime.block_on(async {
                    let read = world.store.read_here(move |reader| {
                        let (history, _) = reader.history_while(session, now, wanted())?;
                        Ok((reader.turn(now)?, history))
                    });
                    let (rows, history) = read.await.unwrap();
                    let history: Vec<Exchange> = history.into_iter().map(fold::earlier).collect();
                    let material = Material {
                        hints: &[],
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
                        exchanges: least as usize,
                        history: tokens,
                        compact: false,
                    };
                    build(&material, &target).unwrap()
                })
            },
        );
    }
}
