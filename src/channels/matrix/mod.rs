//! Matrix: the client-server API v3 by long poll, without encryption.
//!
//! No message is answered that is older than our joining its room, and no sync goes on from a position whose messages
//! are not durable.

pub mod api;
pub mod batch;
pub mod bridge;
pub mod check;
pub mod content;
pub mod deliver;
pub mod encrypted;
pub mod events;
pub mod gap;
pub mod joins;
pub mod lookup;
pub mod position;
pub mod rooms;
pub mod sync;
pub mod syncer;
