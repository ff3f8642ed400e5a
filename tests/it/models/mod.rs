//! Model adapters against byte scripts and third-party peers.

// clippy.toml allows these in test functions only; helpers of tests are no test functions to it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr
)]

mod address;
mod aimock;
mod answered_by;
mod anthropic_decoder;
pub mod byte_peer;
mod chat_decoder;
mod connections;
mod early_reasons;
mod event_reader;
pub(crate) mod faults;
mod gemini_decoder;
mod gemini_requests;
mod halves;
pub mod helpers;
mod limits;
mod line_reader;
pub mod lookup;
mod names;
mod nonsense;
mod ollama_calls;
mod ollama_decoder;
mod parameters;
mod requests;
mod responses_calls;
mod responses_decoder;
mod responses_requests;
mod retries;
mod scripted;
mod thinking;
mod time_bound;
mod wait;
