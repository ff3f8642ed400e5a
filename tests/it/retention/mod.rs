//! What is kept, for how long, and that nothing live ever goes: artifacts, the sweeper, the prunable audit.

mod artifacts;
