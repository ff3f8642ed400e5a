//! Slack over Socket Mode and the Web API.
//!
//! Nothing here decides, and nothing here holds state that is not at Slack or behind the port.
//! Source of every format: <https://docs.slack.dev>.

pub mod api;
pub mod bridge;
pub mod catch_up;
pub mod check;
pub mod deliver;
pub mod directory;
pub mod envelope;
pub mod fields;
pub mod files;
pub mod intake;
pub mod interactions;
pub mod items;
pub mod look_up;
pub mod manifest;
pub mod me;
pub mod memory;
pub mod plain;
pub mod position;
pub mod receive;
pub mod render;
pub mod ts;
pub mod words;
