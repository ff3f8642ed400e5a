//! Sessions, turns, policy and approvals: the one gate everything goes through.
//!
//! No transport and no platform is known here; nothing here draws, listens or connects to a chat service.

pub mod approvals;
pub mod arrival;
pub mod budget;
pub mod call_shape;
pub mod caller;
pub mod command_risk;
pub mod compaction;
pub mod context;
pub mod core;
pub mod costs;
pub mod deadlines;
pub mod delivery;
pub mod doctor;
pub mod drain;
pub mod embeddings;
pub mod emergency;
pub mod forget;
pub mod handle;
pub mod hooks;
pub mod hygiene;
pub mod inbound;
pub mod leftovers;
pub mod lock;
pub mod maintenance;
pub mod memory_cleanup;
pub mod open_calls;
pub mod outbound;
pub mod people;

pub mod policy;
pub mod problem;
pub mod programs;
pub mod progress;
pub mod query;
pub mod reconcile;
pub mod reminders;
pub mod response_cache;
pub mod retention;
pub mod routine;
pub mod rules;
pub mod scheduler;
pub mod sessions;
pub mod slash;
pub mod slash_decide;
pub mod slash_routines;
pub mod start;
pub mod storage;
pub mod sweeper;
pub mod tool_cache;
pub mod turn;
pub mod unknown_senders;
pub mod views;
pub mod what_if;
pub mod why;
