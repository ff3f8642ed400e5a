//! Faults of the process and what it stands on: signals, a full disk, damaged files, a clock that jumps. All on the
//! real binary; the judges are the files the tools write, the fake platform, and the database afterwards.

// Helpers of tests: the lint's own exception covers only the test functions themselves.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr
)]

mod clock;
mod disk;
mod drain;
mod drivers;
mod emergency;
mod files;
mod logs;
mod panics;
mod service;
mod stopped;
mod strangers;
pub(crate) mod world;
