//! Suite: HTTP, the remote client and the command line, against a scripted engine.

// Helpers outside `#[test]` functions fail a test by panicking, as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod accounts;
mod cache_samples;
mod clients;
mod command_line;
mod costs;
mod doors;
mod ephemeral;
pub mod fake;
mod hook_samples;
mod hygiene;
mod raw_bytes;
mod remote;
mod routes;
mod routine_samples;
mod rule_samples;
pub mod samples;
pub mod samples_datasets;
mod samples_file_changes;
mod samples_gate;
mod samples_leftovers;
mod samples_memory;
mod samples_models;
mod samples_on_call;
mod samples_pairing;
mod samples_rare;
mod samples_rehearsals;
mod samples_servers;
mod samples_skills;
mod samples_stats;
mod samples_tokens;
pub mod samples_traffic;
mod schemas;
pub mod server;
mod stats;
mod streams;
