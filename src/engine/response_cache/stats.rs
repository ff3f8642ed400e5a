//! What people and programs are told about the response cache. Sums of counters, nothing else.

use std::collections::BTreeMap;

use crate::engine::core::Engine;
use crate::model::prices;
use crate::protocol::cache::{CacheCounts, CacheGroup, CacheStats, CacheSummary};
use crate::protocol::enums::CacheMissReason;
use crate::protocol::problem::{Problem, ProblemKind};
use crate::store::response_cache::counters::{CounterKind, Row, local_day};
use crate::store::response_cache::{CacheError, Picture};

/// Days that are listed.
const DAYS: usize = 30;

fn add(counts: &mut CacheCounts, row: &Row) {
    let sum = &row.sum;
    match row.key.counted {
        CounterKind::Hit => {
            counts.hits += sum.times;
            counts.lookups += sum.times;
        }
        CounterKind::Coalesced => {
            counts.coalesced += sum.times;
            counts.lookups += sum.times;
        }
        CounterKind::Miss(reason) => {
            *counts.misses.entry(reason).or_default() += sum.times;
            if reason != CacheMissReason::Off {
                counts.lookups += sum.times;
            }
        }
        CounterKind::Store => counts.stores += sum.times,
        CounterKind::NotKept(reason) => *counts.not_kept.entry(reason).or_default() += sum.times,
        CounterKind::Evicted(cause) => *counts.evictions.entry(cause).or_default() += sum.times,
        CounterKind::ToolHit => counts.tools.hits += sum.times,
        CounterKind::ToolMiss(reason) => {
            *counts.tools.misses.entry(reason).or_default() += sum.times;
        }
        CounterKind::ToolStore => counts.tools.stores += sum.times,
        CounterKind::ToolNotKept(reason) => {
            *counts.tools.not_kept.entry(reason).or_default() += sum.times;
        }
    }
    counts.input_tokens_saved += sum.input_tokens;
    counts.output_tokens_saved += sum.output_tokens;
    counts.cost_usd_saved += sum.cost_usd;
    counts.unpriced += sum.unpriced;
}

fn sum<'r>(rows: impl Iterator<Item = &'r Row>) -> CacheCounts {
    let mut counts = CacheCounts::default();
    for row in rows {
        add(&mut counts, row);
    }
    counts
}

fn grouped<'r>(
    rows: impl Iterator<Item = &'r Row>,
    name: impl Fn(&'r Row) -> &'r str,
) -> Vec<CacheGroup> {
    let mut groups: BTreeMap<&str, CacheCounts> = BTreeMap::new();
    for row in rows {
        add(groups.entry(name(row)).or_default(), row);
    }
    groups
        .into_iter()
        .map(|(name, counts)| CacheGroup {
            name: name.to_owned(),
            counts,
        })
        .collect()
}

/// What the file holds; nothing where nobody keeps answers and no file is there.
async fn picture(engine: &Engine) -> Picture {
    let caching = &engine.response_cache;
    if caching.is_enabled() || engine.tool_cache.is_enabled() || caching.file.is_there() {
        caching.file.picture().await
    } else {
        Picture::default()
    }
}

/// What a console shows.
pub async fn summary(engine: &Engine) -> CacheSummary {
    let picture = picture(engine).await;
    let today = local_day(engine.clock.now());
    let of_today = || picture.rows.iter().filter(|row| row.key.day == today);
    CacheSummary {
        enabled: engine.response_cache.is_enabled(),
        entries: picture.entries,
        today: sum(of_today()),
        channels: grouped(of_today(), |row| &row.key.channel),
        problem: picture.problem,
    }
}

/// Everything.
pub async fn stats(engine: &Engine) -> CacheStats {
    let picture = picture(engine).await;
    let options = engine.response_cache.file.options();
    let today = local_day(engine.clock.now());
    let all = || picture.rows.iter();
    let mut days = grouped(all(), |row| &row.key.day);
    days.reverse();
    days.truncate(DAYS);
    CacheStats {
        enabled: engine.response_cache.is_enabled(),
        scopes: engine
            .settings
            .channels
            .iter()
            .map(|(name, channel)| (name.clone(), channel.response_cache))
            .collect(),
        tool_channels: engine
            .settings
            .channels
            .iter()
            .filter(|(_, channel)| channel.tool_cache)
            .map(|(name, _)| name.clone())
            .collect(),
        results: picture.results,
        result_bytes: picture.result_bytes,
        max_results: options.max_results,
        max_result_bytes: options.max_result_bytes,
        entries: picture.entries,
        pinned: picture.pinned,
        bytes: picture.bytes,
        max_entries: options.max_entries,
        max_bytes: options.max_bytes,
        ttl_minutes: options.ttl_ms / 60_000,
        prices_as_of: prices::as_of().to_owned(),
        today: sum(all().filter(|row| row.key.day == today)),
        total: sum(all()),
        channels: grouped(all(), |row| &row.key.channel),
        models: grouped(all().filter(|row| !row.key.counted.is_of_tools()), |row| {
            &row.key.model
        }),
        days,
        problem: picture.problem,
    }
}

/// Why a person was not answered, as a problem.
pub fn problem(error: CacheError) -> Problem {
    match error {
        CacheError::NotFound(id) => Problem::not_found("cached response", &id)
            .hint("`leverframe cache list` shows them; a cached response goes when it is too old"),
        CacheError::Ambiguous(_) => Problem::new(
            ProblemKind::Invalid,
            "more than one cached response",
            error.to_string(),
        )
        .hint("give more characters of the id"),
        CacheError::Unusable(_) => {
            Problem::unavailable("the response cache cannot be used", error.to_string())
                .hint("turns go on without it; response_cache.db may be deleted at any time")
        }
    }
}
