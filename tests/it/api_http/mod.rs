//! The HTTP API over a real socket.
