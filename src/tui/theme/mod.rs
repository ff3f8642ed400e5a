//! Colours by meaning. No view names a colour; a role without a style of its own takes its parent's.

pub mod depth;
pub mod file;
pub mod roles;
