//! Conversations in which too much happens: the engine pauses them, and people let them go on.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod chats;
mod console;
