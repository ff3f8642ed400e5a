//! The tools of servers that agents get now, as requests need them. Reads no database and connects nothing.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use crate::config::settings::ChannelSettings;
use crate::model::request::ToolDefinition;
use crate::tools::mcp::McpServers;

/// A tool that agents can call.
#[derive(Debug, Clone, PartialEq)]
pub struct OfferedTool {
    /// What models are told.
    pub definition: ToolDefinition,
    /// Its title for people; empty = it has none.
    pub title: String,
    /// Whether requests always have it.
    pub always: bool,
}

/// What agents get of a server.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ServerTools {
    /// Its tools, by their names for models.
    pub tools: BTreeMap<String, OfferedTool>,
    /// Whether it is trusted and has resources.
    pub has_resources: bool,
    /// Why agents get less than was trusted once; none = they get all of it.
    pub quarantine: Option<String>,
}

/// Servers by name.
pub type AllServers = BTreeMap<String, ServerTools>;

/// Tool servers.
pub struct ToolServers {
    pub connections: McpServers,
    offered: RwLock<Arc<AllServers>>,
    /// What is trusted is read and put into use by one at a time.
    pub refresh: tokio::sync::Mutex<()>,
}

impl ToolServers {
    /// Over these connections; agents get nothing yet.
    pub fn new(connections: McpServers) -> Self {
        Self {
            connections,
            offered: RwLock::default(),
            refresh: tokio::sync::Mutex::default(),
        }
    }

    /// What agents get now.
    pub fn offered(&self) -> Arc<AllServers> {
        Arc::clone(&self.offered.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Agents get this from now on.
    pub fn set(&self, servers: AllServers) {
        *self.offered.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(servers);
    }
}

/// Whether a channel gets the tools of a server.
pub fn has_server(channel: &ChannelSettings, server: &str) -> bool {
    let named = channel.mcp.as_ref();
    named.is_none_or(|names| names.iter().any(|name| name == server))
}
