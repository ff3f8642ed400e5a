//! Pinning and removing cached responses. Who did it is in the audit; what was said in them is not.

use serde_json::json;

use crate::engine::caller::Caller;
use crate::engine::core::Engine;
use crate::engine::response_cache::stats::problem;
use crate::protocol::cache::{CacheEntry, CachePurge, CachePurgeResult};
use crate::protocol::problem::Problem;
use crate::store::commands::record_audit::RecordAudit;
use crate::store::response_cache::counters::local_day;

/// Pins an answer, or no longer.
pub async fn pin(
    engine: &Engine,
    caller: &Caller,
    id: String,
    pinned: bool,
) -> Result<CacheEntry, Problem> {
    let entry = engine.response_cache.file.pin(id, pinned).await;
    let entry = entry.map_err(problem)?;
    let record = RecordAudit {
        action: if pinned {
            "cache.pinned"
        } else {
            "cache.unpinned"
        },
        by: caller.reference(),
        channel: Some(entry.channel.clone()),
        subject: entry.id.clone(),
        detail: json!({ "scope": entry.scope, "model": entry.model }),
    };
    engine.write(record).await?;
    Ok(entry)
}

/// Removes cached responses.
pub async fn purge(
    engine: &Engine,
    caller: &Caller,
    what: CachePurge,
) -> Result<CachePurgeResult, Problem> {
    let (channel, subject) = match &what {
        CachePurge::Entry(id) => (None, id.chars().take(64).collect()),
        CachePurge::Channel(channel) => (Some(channel.clone()), "channel".to_owned()),
        CachePurge::All => (None, "all".to_owned()),
    };
    let day = local_day(engine.clock.now());
    let purged = engine.response_cache.file.purge(what, day).await;
    let purged = purged.map_err(problem)?;
    let record = RecordAudit {
        action: "cache.purged",
        by: caller.reference(),
        channel,
        subject,
        detail: json!({
            "entries": purged.entries, "results": purged.results, "bytes": purged.bytes
        }),
    };
    engine.write(record).await?;
    Ok(purged)
}
