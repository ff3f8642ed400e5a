//! Suite: HTTP, the remote client and the command line, against a scripted engine.

mod command_line;
mod doors;
mod fake;
mod remote;
mod routes;
mod samples;
mod server;
mod streams;
