//! Conversations that people take over, channels that drain, and tests of channels.

mod crashes;
pub(crate) mod daemon;
mod history;
mod platforms;
mod store;
mod summary;
