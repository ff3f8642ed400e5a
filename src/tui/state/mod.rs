//! What the console knows and how it changes. Pure: no I/O, no clock, no drawing.
//!
//! Selections are ids, never row numbers; nothing that arrives from outside moves one.

pub mod app;
pub mod assigning;
pub mod audit;
pub mod available;
pub mod batch;
pub mod cache_cost;
pub mod command_line;
pub mod continuations;
pub mod copying;
pub mod decide;
pub mod deciding;
pub mod dial;
pub mod dialogs;
pub mod doctor;
pub mod doctor_rows;
pub mod focused;
pub mod hosts;
pub mod hunt;
pub mod input;
pub mod landmark;
pub mod list;
pub mod lists;
pub mod memory;
pub mod memory_keys;
pub mod modal;
pub mod models;
pub mod mouse;
pub mod moving;
pub mod panel;
pub mod perform;
pub mod replay;
pub mod rule_editor;
pub mod rules;
pub mod session_view;
pub mod shape;
pub mod submit;
pub mod summary;
pub mod taking_over;
pub mod text_field;
pub mod undo;
pub mod update;
pub mod why;
