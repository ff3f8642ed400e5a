//! Model providers behind one trait.
//!
//! Adapters translate; they never decide. No adapter retries, stores, or runs a tool: retries, budgets
//! and tools belong to the engine.

pub mod request;
