//! The console's reducer: selection by id, the arming rule under random keys, folding.

// Helpers of tests count as tests here.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod alike;
mod approval_card;
mod arming_rule;
pub mod assigning;
pub mod audit_and_log;
mod card_dialogs;
mod citations;
mod connection;
mod datasets;
mod dialogs;
mod fleet;
pub mod fleet_board;
mod folding;
pub(crate) mod hosts;
mod lists;
mod look;
mod marks;
mod memory;
mod models_dialog;
mod money;
pub(crate) mod month;
mod mouse;
mod next_waiting;
mod notice;
mod notify;
mod opened;
mod preferences;
mod questions;
mod refusal;
pub mod resources;
mod results;
mod rule_coach;
mod selection;
mod servers;
pub mod shell;
mod streams;
pub mod taking_over;
mod text_field;
mod tool_lists;
mod trim;
mod undo;
