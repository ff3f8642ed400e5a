//! The tools there are, with how their calls went.

use crate::engine::core::Engine;
use crate::engine::problem::from_store;
use crate::protocol::problem::Problem;
use crate::protocol::snapshot::Page;
use crate::protocol::tool::{COUNTED_CALLS, Tool};

/// All tools, by name.
pub async fn list(engine: &Engine) -> Result<Page<Tool>, Problem> {
    let usage = engine.store.read(|rows| rows.tool_usage(COUNTED_CALLS));
    let mut usage = usage.await.map_err(from_store)?;
    let registry = engine.tools();
    let tools = registry.all().map(|tool| {
        let spec = tool.spec();
        let usage = usage.remove(spec.name.as_ref()).unwrap_or_default();
        Tool {
            name: spec.name.to_string(),
            source: tool.source(),
            description: spec.description.to_string(),
            access: spec.access,
            effect: spec.effect,
            max_seconds: spec.max_duration.as_secs(),
            cache_seconds: spec.cacheable.map(|cacheable| cacheable.ttl.as_secs()),
            calls: usage.calls,
            errors: usage.errors,
            denied: usage.denied,
            p50_ms: usage.p50_ms,
            last_call_at: usage.last_call_at,
        }
    });
    Ok(Page::from(tools.collect::<Vec<_>>()))
}
