//! Calls that nobody is asked about because too many wait, and equal calls that wait as one.

mod console;
mod daemon;
