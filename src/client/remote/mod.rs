//! The remote implementation of `ConsoleClient`: HTTP and Server-Sent Events to a running daemon.
//!
//! Nothing here waits forever, follows a redirect, uses a proxy, or sends the token anywhere but to the
//! base it was given for.

mod client;
pub mod connection;
pub mod events;
pub mod target;
pub mod trust;
pub mod wire;
