//! The console: one state, one reducer, drawn on demand.
//!
//! Nothing here knows the engine or the store: everything comes and goes through `client::console_client`.
//! The reducer never draws, the views never change state, and only `event_loop`, `connection`, `editor`,
//! `export`, `terminal`, `pictures::asking` and what finds the user's files (`assets`, `reload`) do I/O.

pub mod action;
pub mod assets;
pub mod code_colors;
pub mod editor;
pub mod event_loop;
pub mod export;
pub mod files;
pub mod frames;
pub mod fuzzy;
pub mod keymap;
pub mod links;
pub mod message;
pub mod notify;
pub mod options;
pub mod pictures;
pub mod reload;
pub mod sanitize;
pub mod scrolling;
pub mod state;
pub mod terminal;
pub mod theme;
pub mod view;
