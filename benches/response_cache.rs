//! A look into the response cache, the way a turn takes it (to its thread and back), with few and with many entries.

#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)] // a bench is a test

use std::time::{Duration, Instant};

use leverframe::clock::Timestamp;
use leverframe::protocol::enums::CacheScope;
use leverframe::protocol::session::Usage;
use leverframe::store::response_cache::{CacheState, Key, NewEntry, Options, ResponseCache};

/// Looks that are measured.
const LOOKS: u64 = 5_000;
const NOW: Timestamp = Timestamp(1_800_000_000_000);

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    for entries in [500, 50_000] {
        runtime.block_on(looks(entries));
    }
}

/// A key that is spread over the index as digests are.
fn key(n: u64) -> Key {
    let mut key = [0; 32];
    for (at, part) in key.chunks_mut(8).enumerate() {
        let mixed = (n + at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        part.copy_from_slice(&(mixed ^ (mixed >> 29)).to_be_bytes());
    }
    key
}

fn asked(n: u64) -> [u8; 16] {
    let mut asked = [0; 16];
    asked.copy_from_slice(&key(n)[..16]);
    asked
}

async fn looks(entries: u64) {
    let dir = tempfile::tempdir().unwrap();
    let cache = ResponseCache::new(Options {
        path: dir.path().join("response_cache.db"),
        ttl_ms: 3_600_000,
        max_entries: entries,
        max_bytes: 1 << 30,
        max_results: 512,
        max_result_bytes: 2 << 20,
    });
    for n in 0..entries {
        cache.keep(NewEntry {
            key: key(n),
            asked: asked(n),
            channel: "team".to_owned(),
            scope: CacheScope::Channel,
            requester: "telegram:1".to_owned(),
            model: "local/m".to_owned(),
            question: format!("question number {n}, as people ask it"),
            answer: "An answer of some length. ".repeat(40),
            usage: Usage::default(),
            stored_at: NOW,
        });
        if n % 200 == 0 {
            // The queue is bounded: wait for the thread now and then.
            cache.look(key(n), asked(n), NOW).await;
        }
    }
    assert_eq!(cache.picture().await.entries, entries);
    for (what, first) in [("hit", 0), ("miss", entries)] {
        let mut times: Vec<Duration> = Vec::new();
        for n in 0..LOOKS {
            let wanted = first + n.wrapping_mul(7919) % entries;
            let begun = Instant::now();
            let look = cache.look(key(wanted), asked(wanted), NOW).await;
            times.push(begun.elapsed());
            assert_eq!(matches!(look, CacheState::Found(_)), what == "hit");
        }
        times.sort_unstable();
        let at = |part: usize| times[times.len() * part / 100].as_secs_f64() * 1e6;
        println!(
            "response cache, {entries} entries, {what}: p50 {:.0} µs, p99 {:.0} µs (limit 100 at p50)",
            at(50),
            at(99)
        );
    }
    cache.close().await;
}
