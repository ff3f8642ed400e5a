//! Suite: telemetry. What a collector gets of turns and of the log, that nothing of it is content, and that a collector
//! stops no turn.

mod callers;
mod collector;
mod faults;
mod folding;
mod queue;
mod settings;
mod turns;
