//! State of each channel of a daemon, and its activity in the last 24 hours.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::protocol::costs::BudgetUsage;

/// Number of hours that are counted.
pub const HOURS: usize = 24;

/// A channel on the fleet board.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetChannel {
    /// Channel name.
    pub name: String,
    /// State in one word: its health, or `paused`, `held` (emergency stop), `draining`.
    pub state: String,
    /// Pending approvals.
    pub waiting: u32,
    /// When the engine asked the oldest of them; none = nothing is pending.
    pub oldest_waiting_at: Option<Timestamp>,
    /// US dollars spent today; none = no call of today had a known price.
    pub spent_usd: Option<f64>,
    /// Its own budget of today with the highest use; none = it has no budget of its own.
    pub budget: Option<BudgetUsage>,
    /// When its platform last accepted a message; none = never.
    pub last_reply_at: Option<Timestamp>,
    /// Turns that began in each of the last 24 clock hours, the oldest hour first. The last hour is
    /// not over.
    pub turns: Vec<u64>,
    /// Turns of each hour that failed.
    pub errors: Vec<u64>,
}

impl FleetChannel {
    /// Number of failed turns in the counted hours.
    pub fn failed(&self) -> u64 {
        self.errors.iter().sum()
    }
}
