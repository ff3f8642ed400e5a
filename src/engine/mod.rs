//! Sessions, turns, policy and approvals: the one gate everything goes through.
//!
//! No transport and no platform is known here; nothing here draws, listens or connects to a chat service.

pub mod approvals;
pub mod budget;
pub mod compaction;
pub mod context;
pub mod core;
pub mod costs;
pub mod deadlines;
pub mod doctor;
pub mod drain;
pub mod embeddings;
pub mod forget;
pub mod handle;
pub mod hooks;
pub mod hygiene;
pub mod inbound;
pub mod leftovers;
pub mod outbound;
pub mod people;
pub mod pieces;
pub mod policy;
pub mod probe;
pub mod problem;
pub mod programs;
pub mod query;
pub mod recovery;
pub mod response_cache;
pub mod routine;
pub mod rules;
pub mod scheduler;
pub mod slash;
pub mod slash_decide;
pub mod slash_routines;
pub mod storage;
pub mod strangers;
pub mod sweeper;
pub mod tidy;
pub mod tool_cache;
pub mod turn;
pub mod what_if;
pub mod why;
