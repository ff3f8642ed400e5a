//! Conversations that people take over, channels that drain, and tests of channels.

mod crashes;
mod daemon;
mod history;
mod store;
mod summary;
