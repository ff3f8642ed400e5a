//! Matrix against a real homeserver, and against what comes between.

// Helpers of tests: the lint's own exception covers only the test functions themselves.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bridging;
mod events;
mod inbound;
mod line;
mod outbound;
pub(crate) mod proxy;
mod rooms;
mod stories;
pub(crate) mod synapse;
