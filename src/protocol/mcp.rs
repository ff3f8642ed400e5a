//! Servers of the Model Context Protocol: what each is, what it offers, and what an operator trusts of it.
//!
//! Names, titles, descriptions and texts are written by whoever wrote the server: outside text, to be revealed before
//! it is shown. Nothing here holds a secret.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::clock::Timestamp;
use crate::protocol::enums::{Access, Effect, McpEra, McpServerState, McpToolState, McpTransport};

/// What stands before the server in the name of a tool: `mcp__SERVER__TOOL`.
pub const MCP_PREFIX: &str = "mcp__";
/// The tool with which agents find tools that their requests leave out.
pub const FIND_TOOLS: &str = "find_tools";

/// The tool with which agents read resources of servers.
pub const READ_RESOURCE: &str = "read_resource";

/// The server that an entry of a list of tools names: `files` of `mcp__files__read` and `mcp__files__*`; none = it names
/// none. Names of servers have no `__`.
pub fn server_of(entry: &str) -> Option<&str> {
    let rest = entry.strip_prefix(MCP_PREFIX)?;
    rest.split_once("__").map(|(server, _)| server)
}

/// Whether an entry of a list covers tools of servers that it does not name: `mcp__*`. `*` alone covers all tools there
/// are, which is another matter.
pub fn covers_servers(entry: &str) -> bool {
    entry.strip_suffix('*').is_some_and(|prefix| {
        let of_servers = prefix.starts_with(MCP_PREFIX) || MCP_PREFIX.starts_with(prefix);
        !prefix.is_empty() && of_servers && server_of(prefix).is_none()
    })
}

/// A tool as its server defines it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct McpToolDefinition {
    /// Its name on the server.
    pub name: String,
    /// Its title for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What models read about it.
    #[serde(default)]
    pub description: String,
    /// JSON Schema of its arguments.
    pub input_schema: Value,
    /// JSON Schema of its structured results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// What the server claims about it.
    #[serde(default)]
    pub claims: McpClaims,
}

/// What a server claims about a tool (its annotations). Nobody has checked it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct McpClaims {
    /// It changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
    /// It may remove or overwrite.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destructive: Option<bool>,
    /// Running twice equals running once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotent: Option<bool>,
    /// It reaches the outside world.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_world: Option<bool>,
}

impl McpClaims {
    /// In words.
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

/// Who a server is. What changes here makes an operator look again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct McpIdentity {
    /// Name that the server gives itself.
    pub name: String,
    /// Version that the server gives itself; not a part of the identity that is pinned.
    pub version: String,
    /// Where it is: the program with its arguments, working directory and names of variables, or origin and path.
    pub place: String,
}

impl McpIdentity {
    /// Whether both are the same server: its version may differ.
    pub fn is_same(&self, other: &Self) -> bool {
        self.name == other.name && self.place == other.place
    }
}

/// A tool of a server, and how it stands to what is trusted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct McpTool {
    /// Its name as models call it: `mcp__SERVER__TOOL`.
    pub name: String,
    /// How it stands to what is trusted.
    pub state: McpToolState,
    /// The definition: the trusted one, or the server's where none is.
    pub definition: McpToolDefinition,
    /// What a call of it can touch: what the configuration says, else the claims of a trusted server, else `unknown`.
    pub access: Access,
    /// What recovery may assume.
    pub effect: Effect,
    /// Lower-case hex SHA-256 of the definition that is trusted; none = none is.
    pub trusted_sha256: Option<String>,
    /// Lower-case hex SHA-256 of the definition that the server offers; none = it was not seen, or is gone.
    pub offered_sha256: Option<String>,
    /// Why it cannot be used, or what is odd about its text; none = nothing.
    pub problem: Option<String>,
}

/// A server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct McpServer {
    /// Its name in the configuration: the namespace of its tools.
    pub name: String,
    /// How it is reached.
    pub transport: McpTransport,
    /// The program with its arguments, or the address. Never a secret.
    pub place: String,
    /// What it does now.
    pub state: McpServerState,
    /// Why it failed, or what it waits for; none = nothing.
    pub problem: Option<String>,
    /// Which generation of the protocol it speaks; none = it was never connected.
    pub era: Option<McpEra>,
    /// Version of the protocol, as `2026-07-28`; none = it was never connected.
    pub protocol_version: Option<String>,
    /// Who it says it is; none = it was never connected.
    pub identity: Option<McpIdentity>,
    /// Whether its claims count (`trusted = true` in the configuration).
    pub claims_count: bool,
    /// Where its program runs: the level of the sandbox, or `unsandboxed`; none = it is no program.
    pub sandbox: Option<String>,
    /// Tools that agents can call.
    pub tools: u64,
    /// Tools that wait for an operator: new, changed, missing or invalid ones.
    pub quarantined: u64,
    /// Whether its identity differs from the trusted one: agents get none of its tools.
    pub identity_changed: bool,
    /// When an operator trusted something of it last; none = never.
    pub trusted_at: Option<Timestamp>,
    /// Who did.
    pub trusted_by: Option<String>,
    /// Calls of its tools among the newest 10 000 calls of all tools.
    pub calls: u64,
    /// Those of them that failed, or whose outcome nobody knows.
    pub errors: u64,
    /// Median run time of those that ran, in milliseconds; none = none ran.
    pub p50_ms: Option<u64>,
    /// When it was connected; none = it is not.
    pub connected_at: Option<Timestamp>,
    /// How often it was started again since the start of the daemon.
    pub restarts: u64,
    /// Process id of its program; none = none runs.
    pub pid: Option<u32>,
}

/// A server with what a person reads before trusting it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct McpServerReview {
    /// Which.
    #[serde(flatten)]
    pub server: McpServer,
    /// Its tools, by name.
    pub tool_list: Vec<McpTool>,
    /// Difference from what is trusted to what the server offers; empty where nothing differs.
    pub diff: String,
    /// Lower-case hex SHA-256 of all that it offers: what a trust is given for; none = it was not seen.
    pub offered_sha256: Option<String>,
    /// What it tells models about its use; no prompt holds it.
    pub instructions: Option<String>,
    /// The newest lines of its log (standard error of a program), the oldest first; at most 200.
    pub log: Vec<String>,
    /// What is odd about its answers: names that were refused, lists that were cut.
    pub warnings: Vec<String>,
}

/// A resource that a server offers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct McpResource {
    /// Its address.
    pub uri: String,
    /// Its name.
    pub name: String,
    /// What it is.
    #[serde(default)]
    pub description: String,
    /// Its media type; none = the server does not say.
    pub media_type: Option<String>,
}

/// A prompt that a server offers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct McpPrompt {
    /// Its name.
    pub name: String,
    /// What it is for.
    #[serde(default)]
    pub description: String,
    /// Its arguments: name, and whether it must be given.
    pub arguments: Vec<McpPromptArgument>,
}

/// An argument of a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct McpPromptArgument {
    /// Its name.
    pub name: String,
    /// What it is.
    #[serde(default)]
    pub description: String,
    /// Whether it must be given.
    pub required: bool,
}

/// What a resource or a prompt says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct McpText {
    /// The text: outside text.
    pub text: String,
}
