//! The client: a connection to one server, what the server offers, and calls of its tools.
//!
//! Nothing here starts a program, trusts a text of a server, or answers a question of a server by itself.

pub mod call;
pub mod caller;
pub mod connection;
pub mod elicitation;
mod handler;
mod http;
mod lines;
pub mod login;
pub mod offer;
pub mod request;
pub mod result;
pub mod schema;
pub mod visible;

pub use crate::mcp::client::visible::visible;
