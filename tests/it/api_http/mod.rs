//! Suite: HTTP, the remote client and the command line, against a scripted engine.

mod doors;
mod fake;
mod remote;
mod routes;
mod samples;
mod server;
mod streams;
