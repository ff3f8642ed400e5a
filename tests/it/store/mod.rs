//! The store: transactions, transitions, recovery and the invariants that the database can show.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests, which clippy.toml does not see as tests"
)]

mod world;

mod decisions;
mod lifecycle;
mod opening;
mod random;
mod recovery;
mod schema;
mod writer;
