//! Takes the database over after a start: new epoch, and a truthful state for everything that was in flight.

use crate::clock::Timestamp;
use crate::protocol::ids::{ContinuationId, OutboxId, ToolCallId};

/// What opening found and settled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovery {
    /// The epoch of this process.
    pub epoch: u64,
    /// Whether the process before closed the store.
    pub clean: bool,
    /// Continuations that were running.
    pub interrupted: Vec<ContinuationId>,
    /// Calls whose outcome nobody knows; each has a pending `resolve_unknown` approval.
    pub resolve: Vec<ToolCallId>,
    /// Calls that were in flight and may simply run again.
    pub ready_again: u32,
    /// Parts whose delivery nobody knows; each has a pending `resend` approval.
    pub unknown_sends: Vec<OutboxId>,
    /// Whether the database is a restored copy that waits for release.
    pub quarantine: bool,
    /// Since when, and why, an emergency stop holds the engine.
    pub held: Option<(Timestamp, String)>,
    /// Starts after a crash within the last ten minutes, this one included.
    pub crashes_in_10_min: u32,
}
