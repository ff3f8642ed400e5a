//! Drawing. Reads the state, never changes it; returns what was really shown.

pub mod cache;
pub mod card;
pub mod card_body;
pub mod channels;
pub mod dial;
pub mod dialog;
pub mod footer;
pub mod header;
pub mod help;
pub mod live;
pub mod models;
pub mod paint;
pub mod queue;
pub mod release;
pub mod screen;
pub mod text_entry;
pub mod transcript;
pub mod transcript_entry;
pub mod unknown;
