//! Tool servers (Model Context Protocol): state, offered tools, and what an operator trusts.
//!
//! The server chose names, titles, descriptions and texts: untrusted text, which screens must
//! reveal. Nothing here contains a secret.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::clock::Timestamp;
use crate::protocol::enums::{Access, Effect, McpEra, McpServerState, McpToolState, McpTransport};

/// Prefix of the names of server tools: `mcp__SERVER__TOOL`.
pub const MCP_PREFIX: &str = "mcp__";
/// The tool that finds tools which requests leave out.
pub const FIND_TOOLS: &str = "find_tools";

/// The tool that reads resources of servers.
pub const READ_RESOURCE: &str = "read_resource";

/// The server that an entry of a list of tools names: `files` in `mcp__files__read` and
/// `mcp__files__*`; none = it names none. Server names contain no `__`.
pub fn server_of(entry: &str) -> Option<&str> {
    let rest = entry.strip_prefix(MCP_PREFIX)?;
    rest.split_once("__").map(|(server, _)| server)
}

/// Whether an entry of a list covers tools of servers without naming one: `mcp__*`. `*` alone
/// covers all existing tools and does not count.
pub fn covers_servers(entry: &str) -> bool {
    entry.strip_suffix('*').is_some_and(|prefix| {
        let of_servers = prefix.starts_with(MCP_PREFIX) || MCP_PREFIX.starts_with(prefix);
        !prefix.is_empty() && of_servers && server_of(prefix).is_none()
    })
}

/// A tool as its server defines it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct McpToolDefinition {
    /// Tool name on the server.
    pub name: String,
    /// Title for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Description for models.
    #[serde(default)]
    pub description: String,
    /// JSON Schema of the arguments.
    pub input_schema: Value,
    /// JSON Schema of structured results; none = the server gives none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// Unchecked claims of the server about the tool.
    #[serde(default)]
    pub claims: McpClaims,
}

/// A server's claims about a tool (its annotations). Nobody has checked them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct McpClaims {
    /// Whether the tool changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
    /// Whether the tool may remove or overwrite something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destructive: Option<bool>,
    /// Whether running it twice equals running it once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotent: Option<bool>,
    /// Whether the tool reaches the outside world.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_world: Option<bool>,
}

impl McpClaims {
    /// The claims in words.
    pub fn text(&self) -> String {
        let words = [
            (self.read_only, "only reads", "does more than read"),
            (self.destructive, "may destroy", "destroys nothing"),
            (self.idempotent, "can be repeated", "cannot be repeated"),
            (self.open_world, "reaches elsewhere", "stays inside"),
        ];
        let said: Vec<&str> = words
            .into_iter()
            .filter_map(|(claim, yes, no)| claim.map(|claim| if claim { yes } else { no }))
            .collect();
        if said.is_empty() {
            return "none".to_owned();
        }
        said.join(", ")
    }
}

/// Identity of a server. An operator must review a changed identity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct McpIdentity {
    /// Name that the server reports.
    pub name: String,
    /// Version that the server reports; the trusted identity does not include it.
    pub version: String,
    /// Location: the program with arguments, working directory and names of variables; or origin
    /// and path.
    pub place: String,
}

impl McpIdentity {
    /// Whether both are the same server; the versions may differ.
    pub fn is_same(&self, other: &Self) -> bool {
        self.name == other.name && self.place == other.place
    }
}

/// A tool of a server, compared with what an operator trusts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct McpTool {
    /// Name for models: `mcp__SERVER__TOOL`.
    pub name: String,
    /// State of the tool.
    pub state: McpToolState,
    /// The trusted definition, or else the server's.
    pub definition: McpToolDefinition,
    /// The most that a call can touch: from the configuration, else from the claims of a trusted
    /// server, else `unknown`.
    pub access: Access,
    /// What recovery may assume about a call that a crash interrupted.
    pub effect: Effect,
    /// SHA-256 of the trusted definition in lower-case hex; none = nobody trusts the tool.
    pub trusted_sha256: Option<String>,
    /// SHA-256 of the offered definition in lower-case hex; none = the server did not offer the
    /// tool.
    pub offered_sha256: Option<String>,
    /// Why the tool cannot be used, or what is suspicious about its text; none = nothing.
    pub problem: Option<String>,
}

/// A tool server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct McpServer {
    /// Name in the configuration: the namespace of its tools.
    pub name: String,
    /// How the daemon reaches it.
    pub transport: McpTransport,
    /// The program with its arguments, or the address. Never contains a secret.
    pub place: String,
    /// State of the server.
    pub state: McpServerState,
    /// Why it failed, or what it waits for; none = nothing.
    pub problem: Option<String>,
    /// Generation of its protocol; none = it was never connected.
    pub era: Option<McpEra>,
    /// Version of its protocol, such as `2026-07-28`; none = it was never connected.
    pub protocol_version: Option<String>,
    /// Identity that it reported; none = it was never connected.
    pub identity: Option<McpIdentity>,
    /// Whether its claims about tools count (`trusted = true` in the configuration).
    pub claims_count: bool,
    /// Sandbox of its program, or `unsandboxed`; none = it is not a program.
    pub sandbox: Option<String>,
    /// Number of tools that agents can call.
    pub tools: u64,
    /// Number of tools that wait for an operator: new, changed, missing or invalid ones.
    pub quarantined: u64,
    /// Whether its identity differs from the trusted one. Agents then get none of its tools.
    pub identity_changed: bool,
    /// When an operator last trusted its offer, or a part of it; none = never.
    pub trusted_at: Option<Timestamp>,
    /// Label of who trusted it.
    pub trusted_by: Option<String>,
    /// Calls of its tools among the newest 10 000 calls of all tools.
    pub calls: u64,
    /// Calls of these that failed, or whose outcome is unknown.
    pub errors: u64,
    /// Median run time of these calls in milliseconds; none = no call ran.
    pub p50_ms: Option<u64>,
    /// When it was connected; none = it is not connected.
    pub connected_at: Option<Timestamp>,
    /// How often the engine restarted it since the start of the daemon.
    pub restarts: u64,
    /// Process id of its program; none = no program runs.
    pub pid: Option<u32>,
}

/// A server with everything that a person reads before trusting it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct McpServerReview {
    /// The server.
    #[serde(flatten)]
    pub server: McpServer,
    /// Its tools, by name.
    pub tool_list: Vec<McpTool>,
    /// Difference between the trusted definitions and the offered ones; empty = there is none.
    pub diff: String,
    /// SHA-256 of everything that it offers, in lower-case hex: a person trusts this version.
    /// None = it was never connected.
    pub offered_sha256: Option<String>,
    /// The server's usage instructions for models. No prompt contains them.
    pub instructions: Option<String>,
    /// The newest lines of its log (standard error of a program), oldest first; at most 200.
    pub log: Vec<String>,
    /// Warnings about its answers, such as refused names and cut lists.
    pub warnings: Vec<String>,
}

/// A resource of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct McpResource {
    /// URI of the resource.
    pub uri: String,
    /// Name of the resource.
    pub name: String,
    /// Description of the resource.
    #[serde(default)]
    pub description: String,
    /// Media type; none = the server names none.
    pub media_type: Option<String>,
}

/// A prompt of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct McpPrompt {
    /// Name of the prompt.
    pub name: String,
    /// Description of the prompt.
    #[serde(default)]
    pub description: String,
    /// Arguments of the prompt.
    pub arguments: Vec<McpPromptArgument>,
}

/// An argument of a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct McpPromptArgument {
    /// Name of the argument.
    pub name: String,
    /// Description of the argument.
    #[serde(default)]
    pub description: String,
    /// Whether it is required.
    pub required: bool,
}

/// Text of a resource or a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct McpText {
    /// The text: untrusted.
    pub text: String,
}
