//! Suite: threats. Each test attacks in the way that its number in the threat table names, and has that number.

// Helpers of a suite fail the test by panicking.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod decisions;
mod doors;
mod outside;
mod running;
