//! Changes that several commands share. Every change of state goes through here and is checked against
//! [`crate::store::transitions`]; none of these functions commits anything.

pub mod approvals;
pub mod budgets;
pub mod calls;
pub(crate) mod compactions;
pub mod continuations;
pub(crate) mod floods;
pub(crate) mod hygiene;
pub mod memories;
pub mod models;
pub mod outbox;
pub(crate) mod pairings;
pub mod policies;
pub(crate) mod questions;
pub(crate) mod rules;
pub mod sessions;
pub(crate) mod tool_servers;
