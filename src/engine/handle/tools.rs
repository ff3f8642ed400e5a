//! The tools there are, with how their calls went.

use crate::config::settings::ChannelSettings;
use crate::engine::core::Engine;
use crate::engine::mcp::state::has_server;
use crate::engine::policy;
use crate::protocol::enums::ChannelKind;
use crate::protocol::mcp::server_of;
use crate::protocol::problem::Problem;
use crate::protocol::snapshot::Page;
use crate::protocol::tool::{COUNTED_CALLS, Tool, ToolDefinition};

/// All tools, by name.
pub async fn list(engine: &Engine) -> Result<Page<Tool>, Problem> {
    let mut usage = engine.read(|rows| rows.tool_usage(COUNTED_CALLS)).await?;
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

/// Whether a tool can be called on a channel. Hosts on the channel `mcp` get tools of servers only where the channel names
/// the server: they could reach it themselves.
pub fn is_of_channel(settings: &ChannelSettings, tool: &str) -> bool {
    server_of(tool).is_none_or(|server| match settings.kind {
        ChannelKind::Mcp => settings.mcp.is_some() && has_server(settings, server),
        ChannelKind::Telegram
        | ChannelKind::Discord
        | ChannelKind::Slack
        | ChannelKind::Matrix
        | ChannelKind::Webhook
        | ChannelKind::Process
        | ChannelKind::Scripted
        | ChannelKind::Desk
        | ChannelKind::Api
        | ChannelKind::Cli
        | ChannelKind::Gate
        | ChannelKind::Routine => has_server(settings, server),
    })
}

/// The tools that the policy of a channel does not block, as agents there get them.
pub async fn of_channel(engine: &Engine, channel: String) -> Result<Page<ToolDefinition>, Problem> {
    let settings = engine.channel(&channel)?;
    let registry = engine.tools();
    let named = channel.clone();
    let (policy, has_datasets) = engine
        .read(move |rows| {
            let policy = rows.policy(&named)?;
            Ok((policy, rows.has_datasets(&named)?))
        })
        .await?;
    let definitions = registry
        .definitions()
        .into_iter()
        .filter(|definition| is_of_channel(settings, &definition.name))
        .filter_map(|definition| {
            let tool = registry.get(&definition.name)?;
            let blocked = policy::listed(&policy.block, &definition.name).is_some();
            let offered = !blocked && tool.is_offered(has_datasets);
            let spec = tool.spec();
            offered.then(|| ToolDefinition {
                source: tool.source(),
                access: spec.access,
                effect: spec.effect,
                name: definition.name,
                description: definition.description,
                input_schema: definition.input_schema,
            })
        });
    Ok(Page::from(definitions.collect::<Vec<_>>()))
}
