//! Tool servers: what is trusted of each becomes tools, and what nobody trusts becomes one question about it.
//!
//! No agent gets a tool that differs from what an operator trusts, whatever the autonomy; and nothing here waits for a
//! server while the engine starts or a turn begins.

pub mod doctor;
pub mod find;
pub mod resources;
pub mod review;
pub mod standing;
pub mod state;

use std::sync::Arc;

use tokio::sync::broadcast::error::RecvError;

use crate::config::mcp::McpServerSettings;
use crate::config::settings::Settings;
use crate::engine::approvals::{self, Ask, Origin};
use crate::engine::core::Engine;
use crate::engine::mcp::state::{AllServers, OfferedTool, ServerTools, has_server};
use crate::model::request::ToolDefinition;
use crate::protocol::approval::Preview;
use crate::protocol::enums::{ApprovalKind, McpServerState, McpToolState, Risk};
use crate::protocol::event::EventBody;
use crate::protocol::mcp::server_of;
use crate::protocol::problem::Problem;
use crate::store::commands::record_server_offer::{self, RecordServerOffer};
use crate::store::commands::trust_server::WithdrawServerQuestion;
use crate::store::error::StoreError;
use crate::store::input::NewApproval;
use crate::store::queries::tool_servers::{PinnedDefinition, ServerOffer, ServerTool, ToolServer};
use crate::tools::mcp::find_tools::find_tools;
use crate::tools::mcp::read_resource::ReadResource;
use crate::tools::mcp::{Catalogue, McpTool, definition_sha256, identity_place};
use crate::tools::tool::Tool;

/// Where questions about servers stand. A server is of no single channel, and every installation has the desk.
const CHANNEL: &str = "desk";

/// Puts what is trusted into use. Connects nothing.
pub async fn load(engine: &Engine) -> Result<(), Problem> {
    refresh(engine).await?;
    let servers = engine.read(|rows| rows.tool_servers()).await?;
    for server in servers {
        if server.approval_id.is_some() && !engine.settings.mcp.contains_key(&server.name) {
            withdraw(engine, &server.name).await?;
        }
    }
    Ok(())
}

/// Looks at servers, for as long as the engine runs: once at those of which nothing is trusted, then at each that changes.
pub async fn run(engine: Engine) {
    let changes = engine.servers.connections.changes();
    let engine = engine.current();
    match engine.store.read(|rows| rows.tool_servers()).await {
        Ok(servers) => {
            for (name, settings) in &engine.settings.mcp {
                let known = servers.iter().find(|server| server.name == *name);
                if known.is_none_or(|known| is_to_be_seen(known, settings)) {
                    engine.spawn(contact(engine.clone(), name.clone()));
                }
            }
        }
        Err(error) => tracing::error!(%error, "cannot read what is stored about tool servers"),
    }
    watch(engine, changes).await;
}

/// Whether a server is looked at though nobody calls it: nothing of it is trusted, or it is somewhere else now.
fn is_to_be_seen(known: &ToolServer, settings: &McpServerSettings) -> bool {
    let trust = known.trust.as_ref();
    trust.is_none_or(|trust| trust.identity.place != identity_place(settings))
}

/// Whether what a server offered last came from where it is now.
fn is_there(server: &ToolServer, settings: &McpServerSettings) -> bool {
    let offer = server.offer.as_ref();
    offer.is_some_and(|offer| offer.identity.place == identity_place(settings))
}

/// Goes by another configuration: servers come, change and go without a restart.
pub async fn reconfigure(engine: &Engine, before: &Settings) -> Result<(), Problem> {
    let now = &engine.settings.mcp;
    if before.mcp == *now {
        // A channel may get other servers; requests look at that themselves.
        return Ok(());
    }
    engine.servers.connections.configure(now.clone());
    let servers = engine.read(|rows| rows.tool_servers()).await?;
    for server in servers {
        match now.get(&server.name) {
            Some(settings) if is_there(&server, settings) => {
                ask_again(engine, &server, settings).await?;
            }
            // What it offers elsewhere is seen soon.
            Some(_) | None => withdraw(engine, &server.name).await?,
        }
    }
    refresh(engine).await?;
    for (name, settings) in now {
        let is_same = before.mcp.get(name) == Some(settings);
        if !is_same {
            engine.spawn(contact(engine.clone(), name.clone()));
        }
    }
    let gone = before.mcp.keys().filter(|name| !now.contains_key(*name));
    for name in gone {
        announce(engine, name);
    }
    Ok(())
}

/// Looks at a server whenever it changes, for as long as the engine runs.
async fn watch(engine: Engine, mut changes: tokio::sync::broadcast::Receiver<String>) {
    loop {
        let changed = tokio::select! {
            changed = changes.recv() => changed,
            () = engine.shutdown.cancelled() => return,
        };
        let engine = engine.current();
        let names = match changed {
            Ok(name) => vec![name],
            // Some were missed: all are looked at.
            Err(RecvError::Lagged(_)) => engine.settings.mcp.keys().cloned().collect(),
            Err(RecvError::Closed) => return,
        };
        for name in names {
            let status = engine.servers.connections.status(&name);
            // Only who is connected anyway: an idle server stays idle.
            if status.is_some_and(|status| status.state == McpServerState::Running)
                && let Err(problem) = look(&engine, &name).await
            {
                tracing::debug!(server = %name, %problem, "cannot look at a tool server");
            }
            announce(&engine, &name);
        }
    }
}

/// Connects a server once, so that an operator sees what it offers.
async fn contact(engine: Engine, name: String) {
    // Nothing new starts then; whoever wants to see it starts it.
    if engine.is_held() {
        return;
    }
    let looked = tokio::select! {
        looked = look(&engine, &name) => looked,
        () = engine.shutdown.cancelled() => return,
    };
    if let Err(problem) = looked {
        tracing::warn!(server = %name, %problem, "cannot reach a tool server");
    }
    announce(&engine, &name);
}

/// Reads what a server offers, connecting it where that is needed, and asks about what nobody trusts of it.
pub async fn look(engine: &Engine, name: &str) -> Result<Catalogue, Problem> {
    let catalogue = engine.servers.connections.catalogue(name).await;
    let catalogue = catalogue.map_err(|why| review::unreachable(engine, name, &why))?;
    note(engine, name, &catalogue).await?;
    Ok(catalogue)
}

fn announce(engine: &Engine, server: &str) {
    let server = server.to_owned();
    engine.publish(None, None, EventBody::McpChanged { server });
}

/// What a catalogue offers, as it is kept.
fn offered(
    engine: &Engine,
    settings: &McpServerSettings,
    catalogue: &Catalogue,
) -> (ServerOffer, Vec<record_server_offer::OfferedTool>) {
    let clean = |text: &str| engine.redactor.redact(text).into_owned();
    let mut tools = Vec::new();
    for definition in &catalogue.tools {
        let json = serde_json::to_string(definition).unwrap_or_default();
        // What is shown and kept must be what the digest is of.
        let is_clean = engine.redactor.redact(&json) == json.as_str();
        let odd = catalogue.odd.get(&definition.name);
        tools.push(record_server_offer::OfferedTool {
            name: definition.name.clone(),
            pinned: is_clean.then(|| PinnedDefinition {
                sha256: definition_sha256(definition),
                definition: definition.clone(),
            }),
            problem: if is_clean {
                odd.map(|odd| clean(odd))
            } else {
                Some("its definition holds a secret of this installation".to_owned())
            },
            usable: is_clean && !settings.blocks(&definition.name),
        });
    }
    for (name, why) in &catalogue.invalid {
        tools.push(record_server_offer::OfferedTool {
            name: clean(name),
            pinned: None,
            problem: Some(clean(why)),
            usable: false,
        });
    }
    let mut identity = catalogue.identity.clone();
    for text in [&mut identity.name, &mut identity.version] {
        *text = clean(text);
    }
    let offer = ServerOffer {
        sha256: String::new(),
        identity,
        instructions: catalogue.instructions.as_deref().map(clean),
        warnings: catalogue.warnings.iter().map(|text| clean(text)).collect(),
        has_resources: catalogue.has_resources,
    };
    (offer, tools)
}

/// Keeps what a server offers, asks where that is needed, and puts what follows from it into use.
async fn note(engine: &Engine, name: &str, catalogue: &Catalogue) -> Result<(), Problem> {
    let engine = engine.current();
    let Some(settings) = engine.settings.mcp.get(name) else {
        return Ok(());
    };
    let (offer, tools) = offered(&engine, settings, catalogue);
    record(&engine, name, settings, offer, tools).await
}

/// Keeps an offer and settles the question about it; nothing is written where nothing changed.
async fn record(
    engine: &Engine,
    name: &str,
    settings: &McpServerSettings,
    mut offer: ServerOffer,
    tools: Vec<record_server_offer::OfferedTool>,
) -> Result<(), Problem> {
    let _only = engine.servers.refresh.lock().await;
    let asked = name.to_owned();
    let before = engine.read(move |rows| rows.tool_server(&asked)).await?;
    let usable = tools.iter().filter(|tool| tool.usable);
    let mut usable: Vec<(&str, &str)> = usable
        .filter_map(|tool| Some((tool.name.as_str(), tool.pinned.as_ref()?.sha256.as_str())))
        .collect();
    usable.sort_unstable();
    offer.sha256 = standing::offer_digest(&offer.identity, usable.into_iter(), offer.has_resources);
    let after = merged(name, before.as_ref(), &offer, &tools);
    let question = standing::question(&after, settings)
        .map(|text| (CHANNEL.to_owned(), question(engine, &after, settings, text)));
    let answered = after.decided_sha256.as_ref() == Some(&offer.sha256);
    let waits = question.is_some() && !answered;
    let is_same = before.as_ref().is_some_and(|before| {
        before.offer == after.offer
            && before.tools == after.tools
            && before.approval_id.is_some() == waits
    });
    if !is_same {
        let order = RecordServerOffer {
            name: name.to_owned(),
            offer,
            tools,
            question,
        };
        let asks = engine.write(order).await?;
        if asks {
            tracing::warn!(server = %name, "a tool server offers something untrusted: agents do not get it before an operator trusts it");
            engine.scheduler.deadlines_changed();
        }
    }
    put_into_use(engine).await
}

/// A server as it is with what it offers now.
fn merged(
    name: &str,
    before: Option<&ToolServer>,
    offer: &ServerOffer,
    tools: &[record_server_offer::OfferedTool],
) -> ToolServer {
    let known = before
        .map(|before| before.tools.as_slice())
        .unwrap_or_default();
    let mut merged: Vec<ServerTool> = tools
        .iter()
        .map(|tool| ServerTool {
            name: tool.name.clone(),
            trusted: known
                .iter()
                .find(|known| known.name == tool.name)
                .and_then(|known| known.trusted.clone()),
            offered: tool.pinned.clone(),
            problem: tool.problem.clone(),
            usable: tool.usable,
        })
        .collect();
    let gone = known.iter().filter(|known| {
        known.trusted.is_some() && !tools.iter().any(|tool| tool.name == known.name)
    });
    merged.extend(gone.map(|known| ServerTool {
        offered: None,
        problem: None,
        usable: false,
        ..known.clone()
    }));
    merged.sort_by(|one, other| one.name.cmp(&other.name));
    ToolServer {
        name: name.to_owned(),
        trust: before.and_then(|before| before.trust.clone()),
        offer: Some(offer.clone()),
        decided_sha256: before.and_then(|before| before.decided_sha256.clone()),
        approval_id: before.and_then(|before| before.approval_id),
        tools: merged,
    }
}

fn question(
    engine: &Engine,
    server: &ToolServer,
    settings: &McpServerSettings,
    text: String,
) -> NewApproval {
    let origin = Origin {
        channel: CHANNEL,
        requester: &format!("tool_server:{}", server.name),
    };
    let sha256 = server.offer.as_ref().map(|offer| offer.sha256.clone());
    let (kind, digest) = (ApprovalKind::ServerPin, sha256.unwrap_or_default());
    let text = engine.redactor.redact(&text).into_owned();
    let ask = Ask {
        preview: Preview::Diff {
            path: server.name.clone(),
            unified: standing::difference(server, settings),
        },
        ..Ask::new(kind, digest, Risk::High, text)
    };
    approvals::build(engine, origin, ask)
}

/// What a server offered last, judged by the configuration of now.
async fn ask_again(
    engine: &Engine,
    server: &ToolServer,
    settings: &McpServerSettings,
) -> Result<(), Problem> {
    let Some(offer) = server.offer.clone() else {
        return Ok(());
    };
    let tools = server
        .tools
        .iter()
        .filter(|tool| tool.offered.is_some() || tool.problem.is_some());
    let tools = tools
        .map(|tool| record_server_offer::OfferedTool {
            name: tool.name.clone(),
            usable: tool.offered.is_some() && !settings.blocks(&tool.name),
            pinned: tool.offered.clone(),
            problem: tool.problem.clone(),
        })
        .collect();
    record(engine, &server.name, settings, offer, tools).await
}

/// Nobody is asked any more about a server that the configuration does not have.
async fn withdraw(engine: &Engine, name: &str) -> Result<(), Problem> {
    let order = WithdrawServerQuestion {
        name: name.to_owned(),
    };
    match engine.store.write(order).await {
        Ok(()) | Err(StoreError::NotFound { .. }) => Ok(()),
        Err(error) => Err(Problem::from(error)),
    }
}

/// Reads what is trusted and gives agents exactly that.
pub async fn refresh(engine: &Engine) -> Result<(), Problem> {
    let _only = engine.servers.refresh.lock().await;
    put_into_use(&engine.current()).await
}

/// The same for whoever holds the lock of it.
async fn put_into_use(engine: &Engine) -> Result<(), Problem> {
    if engine.settings.mcp.is_empty() && engine.servers.offered().is_empty() {
        return Ok(());
    }
    let servers = engine.read(|rows| rows.tool_servers()).await?;
    let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
    let mut all = AllServers::default();
    if !engine.settings.mcp.is_empty() {
        tools.push(Arc::new(find_tools()));
        tools.push(Arc::new(ReadResource::default()));
    }
    for (name, settings) in &engine.settings.mcp {
        let known = servers.iter().find(|server| server.name == *name);
        let (offered, built) = match known {
            Some(known) => built(engine, known, settings),
            None => (
                ServerTools {
                    quarantine: Some("nobody trusts it yet".to_owned()),
                    ..ServerTools::default()
                },
                Vec::new(),
            ),
        };
        tools.extend(built);
        all.insert(name.clone(), offered);
    }
    for wrong in engine.set_server_tools(tools) {
        tracing::warn!(%wrong, "a tool of a server cannot be used");
    }
    engine.servers.set(all);
    Ok(())
}

/// What agents get of a server, and its tools.
fn built(
    engine: &Engine,
    server: &ToolServer,
    settings: &McpServerSettings,
) -> (ServerTools, Vec<Arc<dyn Tool>>) {
    let changed = standing::identity_changed(server, settings);
    let quarantined = (server.tools.iter())
        .map(|tool| standing::state_of(tool, changed, settings))
        .any(|state| matches!(state, McpToolState::Changed | McpToolState::Missing));
    let quarantine = match &server.trust {
        None => Some("nobody trusts it yet".to_owned()),
        Some(_) if changed => Some("it is another server than the trusted one".to_owned()),
        Some(_) if quarantined => Some("it changed its tools since they were trusted".to_owned()),
        Some(_) => None,
    };
    let mut offered = ServerTools {
        has_resources: !changed
            && server
                .trust
                .as_ref()
                .is_some_and(|trust| trust.has_resources)
            && server
                .offer
                .as_ref()
                .is_some_and(|offer| offer.has_resources),
        quarantine,
        ..ServerTools::default()
    };
    let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
    let Some(trust) = &server.trust else {
        return (offered, tools);
    };
    for pinned in standing::callable(server, settings) {
        let definition = pinned.definition.clone();
        let (title, own) = (definition.title.clone(), definition.name.clone());
        let connections = engine.servers.connections.clone();
        match McpTool::new(
            connections,
            &server.name,
            settings,
            definition,
            &trust.identity,
        ) {
            Ok(tool) => {
                let tool = tool.with_probe(|probe| {
                    let probe = server.tools.iter().find(|tool| tool.name == probe)?;
                    Some(probe.trusted.as_ref()?.sha256.clone())
                });
                let spec = tool.spec();
                let shown = OfferedTool {
                    definition: ToolDefinition {
                        name: spec.name.to_string(),
                        description: spec.description.to_string(),
                        input_schema: spec.input_schema.clone(),
                    },
                    title: title.unwrap_or_default(),
                    always: settings
                        .tools
                        .get(&own)
                        .is_some_and(|own| own.always_offered),
                };
                offered.tools.insert(spec.name.to_string(), shown);
                tools.push(Arc::new(tool));
            }
            Err(why) => {
                tracing::warn!(server = %server.name, tool = %own, %why, "a tool of a server cannot be used");
            }
        }
    }
    (offered, tools)
}

/// Why a channel does not get a tool of a server, for its model; none = it gets it, or the name is of no server.
pub fn not_here(engine: &Engine, channel: &str, name: &str) -> Option<String> {
    let server = server_of(name)?;
    let settings = engine.settings.channels.get(channel)?;
    let all = engine.servers.offered();
    let found = all.get(server).filter(|_| has_server(settings, server));
    let Some(found) = found else {
        return Some(format!(
            "there is no server `{server}` here, so nothing ran"
        ));
    };
    if found.tools.contains_key(name) {
        return None;
    }
    let why = found.quarantine.as_deref();
    let why = why.unwrap_or("it does not offer this tool, or nobody trusts it");
    Some(format!(
        "`{name}` cannot be called: {why}. An operator has to look at the server `{server}`. Nothing ran; go on without it"
    ))
}
