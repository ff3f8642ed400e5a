//! Another system as a channel: it posts signed messages, and gets what the agent says in its answers or at an address of
//! its own.
//!
//! Nothing unsigned is looked into, and nothing that a message says about its sender counts as proof unless the
//! configuration says so.

pub mod bridge;
pub mod deliver;
pub mod message;
pub mod signature;
