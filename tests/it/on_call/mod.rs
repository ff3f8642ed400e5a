//! Assignments of questions, and who is on call.

mod crashes;
pub(crate) mod daemon;
mod store;
