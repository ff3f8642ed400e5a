//! Model providers behind one trait.
//!
//! Adapters translate; they never decide. No adapter retries, stores, or runs a tool: retries, budgets
//! and tools belong to the engine. (The one exception is a request parameter that a server names in a
//! 400 as unknown to it: the adapter drops the parameter, remembers, and asks again.)

pub mod anthropic;
pub mod catalogue;
pub mod check;
pub mod decode;
pub mod discovery;
pub mod embeddings;
pub mod exchange;
pub mod failure;
pub mod gemini;
pub mod http;
pub mod limits;
pub mod names;
pub mod ollama;
pub mod openai_chat;
pub mod openai_responses;
pub mod parameters;
pub mod prices;
pub mod producer;
pub mod profiles;
pub mod provider;
pub mod redacted;
pub mod registry;
pub mod request;
pub mod retry;
pub mod scripted;
pub mod surrogates;
pub mod transcription;
