//! Commands of the binary on a running daemon: policies, events, and decisions beside yes and no.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod approvals;
mod channel_add;
mod continuations;
mod copies;
mod events;
mod fleet;
mod get;
mod log;
mod manual;
mod people;
mod policy;
mod status;
mod watch;
