//! Reading: every answer is a protocol type, or raw rows the engine turns into one.

pub mod approvals;
pub mod audit;
pub mod channels;
pub mod continuations;
pub mod costs;
pub mod engine_facts;
pub mod history;
pub mod hooks;
pub mod hygiene;
pub mod outbox;
mod page;
pub mod sessions;
pub mod snapshot;
pub mod sweep;
pub mod turn;
pub mod uncertain;
pub mod unknown;
pub mod usage;
pub mod why;
