//! How the channels of a daemon stand, and what they did in the last 24 hours: a row each.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::protocol::costs::BudgetUsage;

/// Hours that are counted.
pub const HOURS: usize = 24;

/// A channel of the fleet board.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetChannel {
    /// Its name.
    pub name: String,
    /// How it stands, in one word: its health, or `paused`, `held`, `draining`.
    pub state: String,
    /// Questions that wait for a person.
    pub waiting: u32,
    /// Since when the oldest of them waits; none = none waits.
    pub oldest_waiting_at: Option<Timestamp>,
    /// US dollars of today; none = no call of today had a price.
    pub spent_usd: Option<f64>,
    /// The budget of today that it has used up the furthest; none = it has none of its own.
    pub budget: Option<BudgetUsage>,
    /// When its platform last accepted a message; none = never.
    pub last_reply_at: Option<Timestamp>,
    /// Turns that began in each of the last 24 clock hours, the oldest hour first. The last one is not over.
    pub turns: Vec<u64>,
    /// Those of them that failed.
    pub errors: Vec<u64>,
}

impl FleetChannel {
    /// How many turns of the counted hours failed.
    pub fn failed(&self) -> u64 {
        self.errors.iter().sum()
    }
}
