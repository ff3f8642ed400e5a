//! Tools, guards and the sandbox.

mod canonical;
mod command;
mod confinement;
mod files;
mod guard;
mod harness;
mod registry;
mod search;
