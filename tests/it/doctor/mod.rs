//! Doctor: every rule can fail, a sound database passes, and what is no database of ours is not touched.

mod base;
mod command;
mod rules;
