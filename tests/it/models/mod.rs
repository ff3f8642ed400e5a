//! Model adapters against byte scripts and third-party peers.

mod aimock;
mod anthropic_decoder;
mod byte_peer;
mod chat_decoder;
mod event_reader;
mod faults;
mod helpers;
mod lookup;
mod requests;
mod retries;
mod scripted;
