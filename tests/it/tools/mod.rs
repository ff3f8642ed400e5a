//! Tools, guards and the sandbox.

// Helpers fail tests by panicking, and a skipped test must say so.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr)]

#[cfg(target_os = "linux")]
pub mod bash;
mod canonical;
mod command;
#[cfg(target_os = "linux")]
mod confinement;
#[cfg(target_os = "linux")]
pub mod descendants;
mod edits;
#[cfg(target_os = "linux")]
mod executable_places;
mod files;
mod guard;
pub mod harness;
mod http_answers;
mod http_fetch;
mod http_guard;
mod http_server;
mod http_tool;
mod interpreters;
#[cfg(target_os = "linux")]
mod landlock;
#[cfg(target_os = "linux")]
mod limits;
mod operands;
#[cfg(target_os = "linux")]
mod proof;
#[cfg(target_os = "linux")]
pub mod python;
mod python_output;
mod python_replies;
mod python_variables;
mod registry;
mod script;
mod search;
#[cfg(target_os = "linux")]
mod shell_directory;
mod version_control;
