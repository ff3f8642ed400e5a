//! Discord against a strict fake.

// Helpers of tests: the lint's own exception covers only the test functions themselves.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod api;
mod away;
mod canary;
mod check;
mod clicks;
mod connections;
mod fake;
mod inbound;
mod interactions;
mod limits;
mod machine;
mod markdown;
mod message;
mod outbound;
mod peer;
mod position;
mod render;
mod stories;
pub mod world;
