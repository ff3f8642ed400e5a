//! Suite: results of tools that are given again. Keys and workspaces alone, the file under every fault, and turns of
//! the real binary.

mod elsewhere;
mod file;
mod keys;
mod turns;
mod workspaces;
