//! Bridges that are programs of somebody else: an open door for every platform that has no bridge of its own.
//!
//! No program is trusted: it says who wrote, and decisions count only where the configuration vouches for that.

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
