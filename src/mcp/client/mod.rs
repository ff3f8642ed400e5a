//! The client: a connection to one server, in either era of the protocol.

pub mod login;
