//! Model calls through the real daemon, against servers that answer by script.

mod answers;
mod chain;
mod choice;
mod interrupted;
pub mod server;
mod stable;
mod window;
