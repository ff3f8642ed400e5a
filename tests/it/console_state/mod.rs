//! The console's reducer: selection by id, the arming rule under random keys, folding.

mod arming_rule;
mod connection;
mod dialogs;
mod folding;
mod selection;
