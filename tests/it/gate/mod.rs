//! The gate: external agents ask about the calls that they make themselves.

mod caller;
mod daemon;
mod install;
mod jobs;
mod kills;
mod lines;
mod plans;
mod proof;
mod rules;
mod run_output;
mod schedules;
mod settings;
mod shapes;
mod stub;
