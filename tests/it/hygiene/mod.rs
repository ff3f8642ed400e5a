//! Hygiene of the memory: what goes, that the preview said so, and that a run taken back leaves nothing changed.

mod crashes;
pub mod daemon;
mod guard;
mod guards;
mod orphans;
mod property;
mod settings;
pub mod world;
