//! Strangers who ask for access: the store's rules, and the real binary.

#![allow(clippy::unwrap_used, clippy::panic)]

mod crashes;
mod daemon;
mod plain;
mod property;
mod store;
pub(crate) mod world;
