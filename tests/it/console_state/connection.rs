//! The loop with a client that comes and goes.
