//! The real binary in a pseudo terminal, as a person meets it.

mod arrival;
mod attach;
mod detach;
pub mod door;
mod hostile;
mod resize;
mod restart;
mod setup;
mod signals;
pub mod steps;
mod tour;
