//! Hooks: order, change, cancel, failing closed, observers that block nobody, and that the pipeline really calls them.

#[cfg(target_os = "linux")]
mod descendants;
mod limits;
mod observers;
mod pure;
mod registry;
pub(crate) mod scripts;
mod settings;
mod trust;
mod turns;
mod vetoes;
