//! The Model Context Protocol, both sides: servers whose tools agents call, and the server that other hosts plug in.
//!
//! Nothing outside of this module knows the SDK. Nothing in it decides whether a call may run, and nothing touches the
//! store.

#![warn(missing_docs)]

pub mod client;
pub mod server;
