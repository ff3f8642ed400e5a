//! Resources of tool servers, as agents read them.

use std::fmt::Write as _;

use crate::engine::core::Engine;
use crate::engine::mcp::state::has_server;
use crate::text::untrusted::reveal_line;

/// Most resources that a list names.
const MOST_LISTED: usize = 100;

/// The text of a resource of a server that a channel has, or the list of those it has; else why not, for the model.
pub async fn read(
    engine: &Engine,
    channel: &str,
    server: &str,
    uri: Option<&str>,
) -> Result<String, String> {
    let settings = engine
        .channel(channel)
        .map_err(|problem| problem.to_string())?;
    let servers = engine.servers.offered();
    let here = servers
        .iter()
        .filter(|(name, known)| known.has_resources && has_server(settings, name));
    let names: Vec<&str> = here.map(|(name, _)| name.as_str()).collect();
    if !names.contains(&server) {
        let names = names.join(", ");
        return Err(format!(
            "there are no resources of a server `{server}` here; servers with resources: {names}"
        ));
    }
    let connections = &engine.servers.connections;
    if let Some(uri) = uri {
        return connections.read_resource(server, uri).await;
    }
    let resources = connections.resources(server).await?;
    let mut text = String::new();
    for resource in resources.iter().take(MOST_LISTED) {
        let about = [resource.name.as_str(), resource.description.as_str()];
        let about: Vec<_> = about.into_iter().filter(|text| !text.is_empty()).collect();
        let line = format!("{}: {}", resource.uri, about.join(", "));
        let _ = writeln!(text, "{}", reveal_line(&line));
    }
    if resources.len() > MOST_LISTED {
        let _ = writeln!(text, "and {} more", resources.len() - MOST_LISTED);
    }
    if text.is_empty() {
        text.push_str("it has none now");
    }
    Ok(text)
}
