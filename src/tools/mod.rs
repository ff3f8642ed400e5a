//! Tools: what the agent can do, how each is classified, checked, confined and run.
//!
//! Nothing here decides whether a call may run (the engine's policy does), and nothing here touches the
//! store.

pub mod tool;
