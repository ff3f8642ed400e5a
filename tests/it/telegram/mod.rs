//! Telegram against a strict fake.

// Helpers of tests: the lint's own exception covers only the test functions themselves.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod accounts;
mod canary;
mod cards;
mod commands;
mod fake;
mod inbound;
mod outbound;
mod peer;
pub mod port;
mod position;
mod scripted;
mod supervisor;
mod updates;
mod webhook;
