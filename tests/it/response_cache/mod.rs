//! Suite: the response cache. Keys and single flight alone, the file under every fault, and turns of the real binary.

mod file;
mod flights;
mod keys;
mod model_server;
mod turns;
