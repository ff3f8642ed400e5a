//! The audit outside the database: listed, verified against anchors, exported for others to recompute.

mod command;
mod sentences;
