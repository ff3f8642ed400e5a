//! The store: transactions, transitions, recovery and the invariants that the database can show.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests, which clippy.toml does not see as tests"
)]
#![allow(
    clippy::redundant_closure,
    clippy::redundant_closure_for_method_calls,
    reason = "a method's path is not general over the reader's lifetime"
)]

mod columns;
mod decisions;
mod found;
mod growth;
mod lifecycle;
mod new_database;
mod opening;
pub(crate) mod random;
mod recovery;
mod schema;
mod writer;
