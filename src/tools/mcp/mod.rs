//! Servers of the Model Context Protocol as tools: the programs of servers, their supervision, and each of their tools.
//!
//! No server runs before somebody asks for it, and nothing here decides whether a call may run.

pub mod definition;
pub mod find_tools;
pub mod read_resource;
pub mod servers;
pub mod tool;

pub use crate::tools::mcp::definition::{classify, definition_sha256, exposed_name};
pub use crate::tools::mcp::servers::{
    CallOutcome, CallRequest, Catalogue, McpServers, ServerStatus, Surroundings, identity_place,
    place,
};
pub use crate::tools::mcp::tool::McpTool;
