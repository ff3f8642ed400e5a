//! Plain serialisable types between surfaces and engine. No logic, no I/O, no clock.
//!
//! A surface sends a [`request`]; the engine returns a reply and [`event`]s. Everything here is data that could be
//! written to a file and read back unchanged.

#![warn(missing_docs)]

pub mod agent_job;
pub mod approval;
pub mod artifact;
pub mod backup;
pub mod bridge;
pub mod budget;
pub mod cache;
pub mod certificate;
pub mod channel;
pub mod chat;
pub mod citation;
pub mod command;
pub mod configuration;
pub mod costs;
pub mod dataset;
pub mod decision;
pub mod doctor;
pub mod duration;
pub mod enums;
pub mod escalation;
pub mod event;
pub mod file_change;
pub mod fleet;
pub mod gate;
pub mod gate_test;
pub mod hex;
pub mod hook;
pub mod hygiene;
pub mod ids;
pub mod leftovers;
pub mod listener;
pub mod log;
pub mod mcp;
pub mod memory;
pub mod metrics;
pub mod models;
pub mod on_call;
pub mod options;
pub mod pairing;
pub mod policy;
pub mod problem;
pub mod rehearsal;
pub mod request;
pub mod routine;
pub mod rule;
pub(crate) mod schema;
pub mod session;
pub mod shorten;
pub mod skill;
pub mod slash;
pub mod snapshot;
pub mod stats;
pub mod summary;
pub mod take_over;
pub mod telemetry;
pub mod token;
pub mod tool;
pub mod trace_parent;
pub mod uncertain;
