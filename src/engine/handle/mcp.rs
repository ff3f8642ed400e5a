//! Tool servers: trusting what they offer, stopping and starting them, and looking at what they have.

use serde_json::{Map, Value, json};

use crate::engine::caller::Caller;
use crate::engine::core::Engine;
use crate::engine::mcp::{self, review};
use crate::protocol::event::EventBody;
use crate::protocol::mcp::{McpPrompt, McpResource, McpServer, McpServerReview, McpText};
use crate::protocol::problem::{Problem, ProblemKind};
use crate::protocol::request::{GetMcpPrompt, TrustMcpServer};
use crate::protocol::snapshot::Page;
use crate::store::commands::record_audit::RecordAudit;
use crate::store::commands::trust_server::{DistrustServer, TrustServer};

/// Every server, by name.
pub async fn list(engine: &Engine) -> Result<Page<McpServer>, Problem> {
    review::list(engine).await
}

/// One, with what a person reads before trusting it.
pub async fn review(engine: &Engine, name: String) -> Result<McpServerReview, Problem> {
    review::review(engine, &name).await
}

/// Agents get what the server offered last, or some of it. The digest says what the person has read.
pub async fn trust(
    engine: &Engine,
    caller: &Caller,
    request: TrustMcpServer,
) -> Result<McpServerReview, Problem> {
    let name = request.name.as_str();
    review::settings(engine, name)?;
    let seen = review::review(engine, name).await?;
    let refuse = |kind, why: String| Problem::new(kind, "not trusted", why);
    let Some(offered) = seen.offered_sha256 else {
        let problem = refuse(ProblemKind::Conflict, format!("{name} was never seen"));
        return Err(problem.hint(format!("`leverframe mcp test {name}` connects it")));
    };
    let sha256 = request.sha256.trim().to_ascii_lowercase();
    if sha256 != offered {
        let why = format!("what {name} offers has the digest {offered} now, not the one you read");
        let problem = refuse(ProblemKind::Conflict, why);
        return Err(problem.hint(format!("read it again: `leverframe mcp show {name}`")));
    }
    for tool in request.tools.iter().flatten() {
        let known = seen
            .tool_list
            .iter()
            .find(|one| one.definition.name == *tool);
        match known {
            Some(one) if one.offered_sha256.is_some() => {}
            Some(_) | None => {
                let shown: String = tool.chars().take(64).collect();
                let why = format!("{name} offers no usable tool `{shown}`");
                return Err(refuse(ProblemKind::Invalid, why));
            }
        }
    }
    let order = TrustServer {
        name: name.to_owned(),
        sha256,
        tools: request.tools,
        by: caller.reference(),
    };
    engine.write(order).await?;
    settled(engine, name).await?;
    review::review(engine, name).await
}

/// Agents get none of its tools any more.
pub async fn distrust(
    engine: &Engine,
    caller: &Caller,
    name: String,
) -> Result<McpServerReview, Problem> {
    let before = review::review(engine, &name).await?;
    let is_configured = engine.settings.mcp.contains_key(&name);
    let order = DistrustServer {
        name: name.clone(),
        forget: !is_configured,
        by: caller.reference(),
    };
    engine.write(order).await?;
    settled(engine, &name).await?;
    if is_configured {
        return review::review(engine, &name).await;
    }
    Ok(before)
}

/// Puts what is trusted now into use, and tells consoles.
pub async fn settled(engine: &Engine, name: &str) -> Result<(), Problem> {
    mcp::refresh(engine).await?;
    engine.scheduler.deadlines_changed();
    let server = name.to_owned();
    engine.publish(None, None, EventBody::McpChanged { server });
    Ok(())
}

/// Ends the connection until somebody starts it.
pub async fn stop(engine: &Engine, caller: &Caller, name: String) -> Result<McpServer, Problem> {
    review::settings(engine, &name)?;
    switched(engine, caller, &name, false).await?;
    engine.servers.connections.stop(&name);
    review::one(engine, &name).await
}

/// Connects it, anew where it is connected.
pub async fn start(engine: &Engine, caller: &Caller, name: String) -> Result<McpServer, Problem> {
    review::settings(engine, &name)?;
    switched(engine, caller, &name, true).await?;
    engine.servers.connections.start(&name);
    mcp::look(engine, &name).await?;
    review::one(engine, &name).await
}

async fn switched(
    engine: &Engine,
    caller: &Caller,
    name: &str,
    started: bool,
) -> Result<(), Problem> {
    let order = RecordAudit {
        action: if started {
            "mcp.started"
        } else {
            "mcp.stopped"
        },
        by: caller.reference(),
        channel: None,
        subject: name.to_owned(),
        detail: json!({ "server": name }),
    };
    engine.write(order).await
}

/// Connects it where that is needed, and lists what it offers.
pub async fn test(engine: &Engine, name: String) -> Result<McpServerReview, Problem> {
    review::settings(engine, &name)?;
    // Whoever tests a server wants to know what it offers now.
    engine.servers.connections.forget_list(&name);
    mcp::look(engine, &name).await?;
    review::review(engine, &name).await
}

pub async fn resources(engine: &Engine, name: String) -> Result<Page<McpResource>, Problem> {
    review::settings(engine, &name)?;
    let listed = engine.servers.connections.resources(&name).await;
    let listed = listed.map_err(|why| review::unreachable(engine, &name, &why))?;
    Ok(Page::from(listed))
}

pub async fn read_resource(engine: &Engine, name: String, uri: String) -> Result<McpText, Problem> {
    review::settings(engine, &name)?;
    let text = engine.servers.connections.read_resource(&name, &uri).await;
    clean(engine, &name, text)
}

pub async fn prompts(engine: &Engine, name: String) -> Result<Page<McpPrompt>, Problem> {
    review::settings(engine, &name)?;
    let listed = engine.servers.connections.prompts(&name).await;
    let listed = listed.map_err(|why| review::unreachable(engine, &name, &why))?;
    Ok(Page::from(listed))
}

/// A prompt with its arguments filled in.
pub async fn prompt(engine: &Engine, request: GetMcpPrompt) -> Result<McpText, Problem> {
    let name = request.name;
    review::settings(engine, &name)?;
    let arguments = request.arguments.into_iter();
    let arguments: Map<String, Value> = arguments
        .map(|(name, value)| (name, Value::String(value)))
        .collect();
    let connections = &engine.servers.connections;
    let text = connections.prompt(&name, &request.prompt, arguments).await;
    clean(engine, &name, text)
}

fn clean(engine: &Engine, name: &str, text: Result<String, String>) -> Result<McpText, Problem> {
    let text = text.map_err(|why| review::unreachable(engine, name, &why))?;
    Ok(McpText {
        text: engine.redactor.redact(&text).into_owned(),
    })
}
