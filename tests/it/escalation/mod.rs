//! A question that nobody decides goes to the next who might: when, to whom, and once.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod chats;
mod configuration;
mod crashes;
mod drill;
mod schedule;
mod world;
