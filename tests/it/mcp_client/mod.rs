//! The client of the Model Context Protocol, and servers' tools.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of a suite fail the test by panicking

mod definitions;
