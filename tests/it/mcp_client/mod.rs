//! The client of the Model Context Protocol, and servers' tools.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of a suite fail the test by panicking

mod answers;
mod confinement;
mod definitions;
mod elicitation;
mod http;
mod lifecycle;
mod lists;
mod offer;
mod questions;
mod result;
mod schema;
mod tool;
mod visible;
pub mod world;
