//! Leverframe: the operator's console for AI agents that live in chat channels.
//!
//! Modules are layers; `tests/it/layering.rs` holds the table of permitted arrows.

pub mod client;
pub mod clock;
pub mod config;
pub mod model;
pub mod protocol;
pub mod tools;
