//! Model calls through the real daemon, against servers that answer by script.

mod answers;
mod cache_key;
mod chain;
mod choice;
mod citations;
mod decisions;
mod forged;
mod interrupted;
mod options;
mod pictures;
mod preferences;
mod secrets;
pub mod server;
mod speakers;
mod spend;
mod stable;
mod time_bound;
mod window;
