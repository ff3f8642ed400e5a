//! The one database: everything that must change together changes in one transaction here.
//!
//! No SQL exists outside this module, nothing here reads the wall clock except through the clock it was
//! opened with, and nothing here decides anything about policy, people or text: commands are pure data.

pub mod activity_log;
pub mod anchors;
pub mod archive_files;
mod artifact_files;
pub mod artifacts;
pub mod audit;
mod audit_chain;
pub mod audit_export;
pub mod backup;
pub mod backup_check;
pub mod check;
pub mod command;
pub mod commands;
mod dataset_files;
pub mod datasets;
mod erase_archived;
pub mod error;
mod event_archive;
pub mod event_log;
pub mod files;
mod handle;
pub mod hygiene;
mod immutable;
pub mod input;
mod integrity;
mod log_head;
mod meta;
pub mod metrics;
pub mod offline;
mod open;
pub mod open_turns;
mod ownership;
pub mod queries;
pub mod reader;
pub mod response_cache;
pub mod restore;
mod rows;
pub mod schema;
mod sql;
pub mod transitions;
mod tx;
pub mod vectors;
pub mod writer;

pub use event_log::EventsAfter;
pub use handle::{OpenOptions, OpenedStore, Store};
