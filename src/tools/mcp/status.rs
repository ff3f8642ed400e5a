//! How a server is. No text in it holds a secret that is known here, or a character that a terminal would execute.

use crate::clock::Timestamp;
use crate::protocol::enums::{McpEra, McpServerState};
use crate::protocol::mcp::McpIdentity;

/// How a server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerStatus {
    /// What it does now.
    pub state: McpServerState,
    /// Why it failed, or what it waits for; none = nothing.
    pub problem: Option<String>,
    /// Which generation of the protocol it speaks; none = it was never connected.
    pub era: Option<McpEra>,
    /// Version of the protocol; none = it was never connected.
    pub protocol_version: Option<String>,
    /// Who it says it is; none = it was never connected.
    pub identity: Option<McpIdentity>,
    /// When it was connected; none = it is not.
    pub connected_at: Option<Timestamp>,
    /// How often it was connected again.
    pub restarts: u64,
    /// Process id above its program; none = none runs.
    pub pid: Option<u32>,
    /// The newest lines of its log, the oldest first; at most 200. Without secrets, and revealed.
    pub log: Vec<String>,
    /// Where its program runs: the level of the sandbox, or `unsandboxed`; none = it is no program.
    pub sandbox: Option<String>,
}
