//! Model servers behind the real daemon: message in, approvals in between, answer out.

// clippy.toml allows these in test functions only; helpers of tests are no test functions to it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr
)]

mod cancel;
mod fair;
mod litellm;
mod mock_server;
pub(crate) mod patient_peer;
mod scripted;
mod stories;
