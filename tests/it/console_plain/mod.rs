//! The console in lines: the real binary, typed to and read line by line.

mod asked;
mod decisions;
mod face;
mod input;
mod openings;
mod tasks;
pub(crate) mod typist;
mod words;
