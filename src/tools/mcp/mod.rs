//! Servers of the Model Context Protocol as tools: the programs of servers, their supervision, and each of their tools.
//!
//! No server runs before somebody asks for it, and nothing here decides whether a call may run.

pub mod call;
pub mod catalogue;
pub mod definition;
pub mod find_tools;
mod link;
pub mod place;
pub mod read_resource;
mod server;
pub mod servers;
pub mod status;
pub mod surroundings;
pub mod tool;

pub use crate::tools::mcp::call::{CallOutcome, CallRequest};
pub use crate::tools::mcp::catalogue::Catalogue;
pub use crate::tools::mcp::definition::{classify, definition_sha256, exposed_name};
pub use crate::tools::mcp::place::{identity_place, place};
pub use crate::tools::mcp::servers::McpServers;
pub use crate::tools::mcp::status::ServerStatus;
pub use crate::tools::mcp::surroundings::Surroundings;
pub use crate::tools::mcp::tool::McpTool;
