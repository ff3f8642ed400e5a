//! Drawing. Reads the state, never changes it; returns what was really shown.

pub mod audit;
pub mod cache;
pub mod cache_cost;
pub mod card;
pub mod card_body;
pub mod channels;
pub mod continuations;
pub mod dial;
pub mod dialog;
pub mod doctor;
pub mod footer;
pub mod header;
pub mod help;
pub mod live;
pub mod memory;
pub mod models;
pub mod paint;
pub mod queue;
pub mod release;
pub mod rules;
pub mod screen;
pub mod text_entry;
pub mod transcript;
pub mod transcript_entry;
pub mod unknown;
pub mod which_key;
