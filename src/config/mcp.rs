//! Servers of the Model Context Protocol whose tools agents call, as `[mcp.NAME]` describes them.
//!
//! Nothing here starts a program or reaches a host.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::config::program::ProgramSettings;
use crate::config::secret::Secret;
use crate::protocol::enums::{Access, Effect};

/// How one server is reached and what its tools may do.
#[derive(Debug, Clone, PartialEq)]
pub struct McpServerSettings {
    /// Where it is.
    pub place: McpPlace,
    /// Whether its claims about its tools count.
    pub trusted: bool,
    /// What the operator says about its tools, by their name on the server.
    pub tools: BTreeMap<String, McpToolSettings>,
    /// Names (or `prefix*`) of the only tools that are used; empty = all.
    pub allow: Vec<String>,
    /// Names (or `prefix*`) of tools that are never used.
    pub block: Vec<String>,
    /// Longest time without an answer or progress in one call.
    pub idle_timeout: Duration,
    /// Longest time of one call, whatever progress it makes.
    pub max_duration: Duration,
    /// A server that nobody called for so long is let go.
    pub keep: Duration,
    /// Most bytes of the text of one result; a longer one is cut. What is too long for a model is kept as an artifact, as of
    /// every tool.
    pub max_result_bytes: usize,
}

/// Where a server is.
#[derive(Debug, Clone, PartialEq)]
pub enum McpPlace {
    /// A program.
    Program(ProgramSettings),
    /// An address.
    Address(McpAddress),
}

/// A server that is reached over streamable HTTP.
#[derive(Debug, Clone, PartialEq)]
pub struct McpAddress {
    /// `https://…`, or `http://` of a loopback or private address.
    pub url: String,
    /// Headers of every request; `Authorization` with a bearer token among them, where one is configured.
    pub headers: BTreeMap<String, Secret>,
    /// Where tokens of a login are kept: a file of mode 0600 beside the database. None = it wants no login.
    pub login: Option<McpLogin>,
}

/// How a login is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpLogin {
    /// File of the tokens.
    pub file: PathBuf,
    /// Id of a client that was registered by hand; none = one is registered, or the server knows our metadata.
    pub client_id: Option<String>,
    /// What is asked for; empty = what the server says.
    pub scopes: Vec<String>,
}

/// What an operator says about one tool; each value stands above the claims of the server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct McpToolSettings {
    /// What a call touches.
    pub access: Option<Access>,
    /// What recovery may assume.
    pub effect: Option<Effect>,
    /// How long a result may be given again; none = never. Only of tools whose access reads.
    pub cache: Option<Duration>,
    /// Whether requests always tell models of it, however many tools there are.
    pub always_offered: bool,
    /// Keyed tools: the argument that gets the idempotency key.
    pub key_argument: Option<String>,
    /// Reconcilable tools: the tool of the same server that tells whether a call happened. It gets the same arguments,
    /// and answers with `{"happened": true or false}`.
    pub probe: Option<String>,
}

/// Whether a name can be that of a server: it stands in the names of its tools.
pub fn is_server_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-');
    (1..=32).contains(&name.len())
        && name.chars().all(plain)
        && !name.contains("__")
        && !name.starts_with('_')
        && !name.ends_with('_')
}

impl McpServerSettings {
    /// Whether the configuration keeps a tool of this server from agents, by its name on the server.
    pub fn blocks(&self, tool: &str) -> bool {
        let covers = |entry: &String| match entry.strip_suffix('*') {
            Some(prefix) => tool.starts_with(prefix),
            None => entry == tool,
        };
        let allowed = self.allow.is_empty() || self.allow.iter().any(covers);
        !allowed || self.block.iter().any(covers)
    }
}
