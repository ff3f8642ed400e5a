//! Tool servers: configuration, what an operator trusts, and what agents get of it.

// Helpers of a suite fail the test by panicking.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod configuration;
mod crashes;
mod edit;
mod import;
mod many;
mod quarantine;
mod redeployed;
mod reload;
mod restless;
pub(crate) mod scripted;
mod surfaces;
