//! What is kept, for how long, and that nothing live ever goes: artifacts, the sweeper, the prunable audit.

mod artifacts;
mod audit;
mod crashes;
mod daemon;
mod files;
mod pieces;
mod property;
mod size;
pub mod world;
