//! What models can do and cost: the shipped tables, an operator's own, and the order in which they are taken.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod commands;
mod discover;
mod failures;
mod files;
mod matching;
mod order;
pub(crate) mod server;
