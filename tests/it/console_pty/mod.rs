//! The real binary in a pseudo terminal, as a person meets it.

mod door;
mod tour;
