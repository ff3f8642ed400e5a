//! Slack against a strict fake, and against a Slack of others.

// Helpers of tests: the lint's own exception covers only the test functions themselves.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod api;
mod away;
mod catch_up;
mod check;
mod envelope;
mod files;
mod inbound;
mod local_slack;
mod look_up;
mod manifest;
mod outbound;
mod peer;
mod plain;
pub mod port;
mod position;
mod render;
mod sockets;
mod stories;
mod threads;
mod ts;
