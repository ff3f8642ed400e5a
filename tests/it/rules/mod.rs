//! Rules: what they match, that their uses and ends hold, and what a person does with them.

mod commands;
mod daemon;
mod lifetimes;
mod links;
mod matching;
mod never_used;
mod store;
mod suggest;
mod turns;
mod walk;
pub(crate) mod world;
