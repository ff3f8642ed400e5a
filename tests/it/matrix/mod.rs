//! Matrix against a real homeserver, and against what comes between.

// Helpers of tests: the lint's own exception covers only the test functions themselves.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod api;
pub mod bridging;
mod content;
mod events;
mod inbound;
mod line;
mod missed;
mod outbound;
mod position;
mod room_list;
mod rooms;
mod stories;
mod stuck;
pub(crate) mod synapse;
