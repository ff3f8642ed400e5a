//! Bridges that are programs of somebody else, for platforms without a built-in bridge.
//!
//! No program is trusted: it names the sender, and decisions count only where the configuration vouches for that.

pub mod bridge;
pub mod conform;

pub mod decode;
mod greeting;
mod inbound;
pub mod lines;
mod look;
mod outbound;
mod reader;
pub mod schema;
mod session;
pub mod times;
pub mod wire;
