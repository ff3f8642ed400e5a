//! What operators see of tool servers.

use std::collections::BTreeMap;

use crate::config::mcp::{McpPlace, McpServerSettings};
use crate::engine::core::Engine;
use crate::engine::mcp::standing::{self, needs_review};
use crate::protocol::enums::{McpServerState, McpToolState, McpTransport};
use crate::protocol::mcp::{McpServer, McpServerReview, McpTool};
use crate::protocol::problem::Problem;
use crate::protocol::snapshot::Page;
use crate::protocol::tool::COUNTED_CALLS;
use crate::store::queries::tool_servers::{ServerTool, ToolServer};
use crate::store::queries::tools::ToolUsage;
use crate::tools::mcp::{classify, exposed_name, place};

/// There is no such server.
pub fn not_found(engine: &Engine, name: &str) -> Problem {
    let known: Vec<&str> = engine.settings.mcp.keys().map(String::as_str).collect();
    let hint = if known.is_empty() {
        "`leverframe mcp add` puts one into the configuration".to_owned()
    } else {
        format!("servers: {}", known.join(", "))
    };
    Problem::not_found("tool server", name).hint(hint)
}

/// A server does not answer.
pub fn unreachable(engine: &Engine, name: &str, why: &str) -> Problem {
    if !engine.settings.mcp.contains_key(name) {
        return not_found(engine, name);
    }
    Problem::unavailable(
        "the tool server cannot be reached",
        engine
            .redactor
            .redact(&format!("{name}: {why}"))
            .into_owned(),
    )
    .hint(format!(
        "`leverframe mcp show {name}` has the newest lines of its log"
    ))
}

pub fn settings<'a>(engine: &'a Engine, name: &str) -> Result<&'a McpServerSettings, Problem> {
    engine
        .settings
        .mcp
        .get(name)
        .ok_or_else(|| not_found(engine, name))
}

struct Known {
    row: Option<ToolServer>,
    usage: ToolUsage,
}

async fn known(engine: &Engine) -> Result<BTreeMap<String, Known>, Problem> {
    let (rows, mut usage) = engine
        .read(|rows| Ok((rows.tool_servers()?, rows.server_usage(COUNTED_CALLS)?)))
        .await?;
    let mut servers: BTreeMap<String, Known> = BTreeMap::new();
    for row in rows {
        let is_configured = engine.settings.mcp.contains_key(&row.name);
        if is_configured || row.trust.is_some() {
            let usage = usage.remove(&row.name).unwrap_or_default();
            servers.insert(
                row.name.clone(),
                Known {
                    row: Some(row),
                    usage,
                },
            );
        }
    }
    for name in engine.settings.mcp.keys() {
        servers.entry(name.clone()).or_insert_with(|| Known {
            row: None,
            usage: usage.remove(name).unwrap_or_default(),
        });
    }
    Ok(servers)
}

/// Every server, by name.
pub async fn list(engine: &Engine) -> Result<Page<McpServer>, Problem> {
    let servers = known(engine).await?;
    let servers = servers
        .iter()
        .map(|(name, known)| server(engine, name, known));
    Ok(Page::from(servers.collect::<Vec<_>>()))
}

/// One, with what a person reads before trusting it.
pub async fn review(engine: &Engine, name: &str) -> Result<McpServerReview, Problem> {
    let servers = known(engine).await?;
    let known = servers.get(name).ok_or_else(|| not_found(engine, name))?;
    let settings = engine.settings.mcp.get(name);
    let offer = known.row.as_ref().and_then(|row| row.offer.as_ref());
    let diff = known.row.as_ref().zip(settings);
    let status = engine.servers.connections.status(name);
    Ok(McpServerReview {
        server: server(engine, name, known),
        tool_list: tools(engine, name, known),
        diff: diff
            .map(|(row, settings)| standing::difference(row, settings))
            .unwrap_or_default(),
        offered_sha256: offer.map(|offer| offer.sha256.clone()),
        instructions: offer.and_then(|offer| offer.instructions.clone()),
        log: status.map(|status| status.log).unwrap_or_default(),
        warnings: offer
            .map(|offer| offer.warnings.clone())
            .unwrap_or_default(),
    })
}

/// A server without its tools.
pub async fn one(engine: &Engine, name: &str) -> Result<McpServer, Problem> {
    review(engine, name).await.map(|review| review.server)
}

fn server(engine: &Engine, name: &str, known: &Known) -> McpServer {
    let settings = engine.settings.mcp.get(name);
    let status = engine
        .servers
        .connections
        .status(name)
        .filter(|_| settings.is_some());
    let row = known.row.as_ref();
    let trust = row.and_then(|row| row.trust.as_ref());
    let seen = row.and_then(|row| row.offer.as_ref());
    let tools = tools(engine, name, known);
    let count = |wanted: &dyn Fn(McpToolState) -> bool| {
        tools.iter().filter(|tool| wanted(tool.state)).count() as u64
    };
    let clean = |text: String| engine.redactor.redact(&text).into_owned();
    let former = || {
        trust
            .map(|trust| trust.identity.place.clone())
            .unwrap_or_default()
    };
    let place = settings.map_or_else(former, place);
    let problem = match (settings, &status) {
        (None, _) => Some(format!(
            "the configuration does not have it; `leverframe mcp distrust {name}` forgets it"
        )),
        (Some(_), Some(status)) => status.problem.clone(),
        (Some(_), None) => None,
    };
    McpServer {
        name: name.to_owned(),
        transport: match settings.map(|settings| &settings.place) {
            Some(McpPlace::Program(_)) => McpTransport::Stdio,
            Some(McpPlace::Address(_)) => McpTransport::Http,
            None if place.starts_with("http") => McpTransport::Http,
            None => McpTransport::Stdio,
        },
        place: clean(place),
        state: status
            .as_ref()
            .map_or(McpServerState::Stopped, |status| status.state),
        problem: problem.map(clean),
        era: status.as_ref().and_then(|status| status.era),
        protocol_version: status
            .as_ref()
            .and_then(|status| status.protocol_version.clone()),
        identity: status
            .as_ref()
            .and_then(|status| status.identity.clone())
            .or_else(|| seen.map(|offer| offer.identity.clone())),
        claims_count: settings.is_some_and(|settings| settings.trusted),
        sandbox: status.as_ref().and_then(|status| status.sandbox.clone()),
        tools: count(&|state| state == McpToolState::Trusted),
        quarantined: count(&needs_review),
        identity_changed: row
            .zip(settings)
            .is_some_and(|(row, settings)| standing::identity_changed(row, settings)),
        trusted_at: trust.map(|trust| trust.at),
        trusted_by: trust.map(|trust| trust.by.clone()),
        calls: known.usage.calls,
        errors: known.usage.errors,
        p50_ms: known.usage.p50_ms,
        connected_at: status.as_ref().and_then(|status| status.connected_at),
        restarts: status.as_ref().map_or(0, |status| status.restarts),
        pid: status.as_ref().and_then(|status| status.pid),
    }
}

fn tools(engine: &Engine, server: &str, known: &Known) -> Vec<McpTool> {
    let (Some(row), Some(settings)) = (&known.row, engine.settings.mcp.get(server)) else {
        return Vec::new();
    };
    let changed = standing::identity_changed(row, settings);
    let tools = row.tools.iter();
    let tool = |tool: &ServerTool| {
        let pinned = tool.trusted.as_ref().or(tool.offered.as_ref());
        let definition = pinned.map(|pinned| pinned.definition.clone());
        // Of what cannot be used only the name is known.
        let definition = definition.unwrap_or_else(|| standing::without_definition(&tool.name));
        let own = settings.tools.get(&tool.name);
        let (access, effect) = classify(own, &definition.claims, settings.trusted);
        let exposed = exposed_name(server, &tool.name);
        McpTool {
            name: exposed.clone().unwrap_or_else(|_| tool.name.clone()),
            state: standing::state_of(tool, changed, settings),
            access,
            effect,
            trusted_sha256: tool.trusted.as_ref().map(|pinned| pinned.sha256.clone()),
            offered_sha256: tool.offered.as_ref().map(|pinned| pinned.sha256.clone()),
            problem: tool.problem.clone().or(exposed.err()),
            definition,
        }
    };
    tools.map(tool).collect()
}
