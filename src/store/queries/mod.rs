//! Reading: every answer is a protocol type, or raw rows the engine turns into one.

pub mod approvals;
pub mod audit;
pub mod channels;
pub mod compactions;
pub mod continuations;
pub mod costs;
pub mod engine_facts;
pub mod forget;
pub mod history;
pub mod hooks;
pub mod hygiene;
pub mod memories;
pub mod memory_review;
pub mod memory_search;
pub mod mentions;
pub mod outbox;
mod page;
pub mod routines;
pub mod rules;
pub mod sessions;
pub mod snapshot;
pub mod sweep;
pub mod turn;
pub mod uncertain;
pub mod unknown;
pub mod usage;
pub mod why;
