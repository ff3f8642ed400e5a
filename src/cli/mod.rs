//! The command line: arguments to mode, one file per subcommand.
//!
//! No subcommand knows how its client reaches the engine, and none writes outside text that was not
//! revealed. The only place that prints is [`terminal::Terminal`].

pub mod approval_card;
pub mod approvals;
pub mod arguments;
pub mod ask;
pub mod audit;
pub mod backup;
pub mod cache;
pub mod channels;
pub mod compaction;
pub mod completions;
pub mod connect;
pub mod continuations;
pub mod costs;
pub mod doctor;
pub mod emergency;
pub mod events;
pub mod execute;
pub mod exit;
pub mod find;
pub mod hooks;
pub mod hygiene;
pub mod init;
pub mod init_offer;
mod init_questions;
pub mod keys;
pub mod leftovers;
pub mod list;
pub mod memory;
pub mod memory_arguments;
pub mod memory_erase;
pub mod memory_lines;
pub mod models;
pub mod modes;
pub mod on_call;
pub mod outbox;
pub mod pairings;
pub mod plain;
pub mod policy;
pub mod release;
pub mod reload;
pub mod replay;
pub mod resolve;
pub mod routine;
pub mod rules;
pub mod run;
pub mod sessions;
pub mod status;
pub mod summary;
pub mod sweep;
pub mod table;
pub mod take_over;
pub mod terminal;
pub mod themes;
pub mod why;
