//! Model calls through the real daemon, against servers that answer by script.

mod answers;
mod chain;
mod choice;
mod interrupted;
pub(crate) mod server;
mod stable;
mod time_bound;
mod window;
