//! The real binary in a pseudo terminal, as a person meets it.

mod arrival;
mod ascii;
mod assigning;
mod attach;
mod cut;
mod datasets;
mod detach;
pub(crate) mod door;
mod files;
mod fleet;
mod hostile;
mod hosts;
mod large_output;
mod look;
mod memory;
mod models;
mod money;
mod mouse;
mod notice;
mod pictures;
mod resize;
mod restart;
mod servers;
mod setup;
#[cfg(target_os = "linux")]
mod shell;
mod shift;
mod signals;
mod slow;
mod stand_in;
pub(crate) mod steps;
mod terminal;
mod tmux;
mod tour;
mod twenty;
