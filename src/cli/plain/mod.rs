//! The console without a screen: append-only lines and numbers, every task possible.
//!
//! The same state and the same rules as the full console, driven by lines instead of keys. Nothing is
//! decided that was not printed in full, and no line that was typed before it was printed decides.

pub mod channels;
pub mod face;
pub mod gate;
pub mod input;
pub mod line_loop;
pub mod out;
pub mod queue;
pub mod sessions;
pub mod shell;
pub mod turns;
pub mod words;
