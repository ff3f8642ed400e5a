//! Routines: when they are due, that each due time is settled once whatever happens, and what people can do with them.

// Helpers of tests: the lint's own exception covers only the test functions themselves.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod command_line;
mod crashes;
mod daemon;
mod guards;
mod schedule;
mod scheduler;
mod walk;
mod world;
