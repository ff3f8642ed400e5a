//! The store: transactions, transitions, recovery and the invariants that the database can show.

mod world;

mod decisions;
mod lifecycle;
mod opening;
mod random;
mod recovery;
mod schema;
mod writer;
