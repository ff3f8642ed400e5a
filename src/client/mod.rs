//! The one seam in code: two traits, and the remote implementation of the first.
//!
//! Nothing here knows the engine; the in-process implementations live in `runtime`.

#![warn(missing_docs)]

pub mod approval_lines;
pub mod attachment;
pub mod bridge_health;
pub mod channel_port;
pub mod console_client;
pub mod dataset_lines;
pub mod dataset_upload;
pub mod export;
pub mod gate_test_lines;
pub mod listing;
pub mod memory_lines;
pub mod program;
pub mod rehearsal_lines;
pub mod remote;
pub mod server_lines;
pub mod stats_lines;
pub mod summary_lines;
pub mod webhooks;
