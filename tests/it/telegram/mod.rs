//! Telegram against a strict fake.

mod cards;
mod fake;
mod inbound;
mod outbound;
mod peer;
mod port;
mod scripted;
mod supervisor;
mod updates;
