//! What runs of programs leave in places from which other programs run code: on the Queue until a person dismisses it.

#![allow(clippy::unwrap_used, clippy::panic)]

mod console;
pub(crate) mod daemon;
mod plain;
mod stored;
