//! What is kept, for how long, and that nothing live ever goes: artifacts, the sweeper, the prunable audit.

mod archive;
mod artifacts;
mod audit;
mod children;
mod compactions;
mod crashes;
pub mod daemon;
mod files;
pub(crate) mod pieces;
mod property;
mod size;
pub mod world;
