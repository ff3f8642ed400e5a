//! Cost and health over time, by period and group.
//!
//! An unknown number is none, never zero. Numbers are unknown before the first record, and where the
//! sweep has removed history. A group also lacks numbers of a kind that it does not have: a model has no
//! deliveries.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::protocol::enums::{StatsGrouping, StatsStep};

/// Most periods in one answer.
pub const MOST_SPANS: usize = 750;

/// The group of everything without a group of its own.
pub const OTHERS: &str = "(others)";

/// Cost and health over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stats {
    /// Length of a period.
    pub step: StatsStep,
    /// What the groups are.
    pub by: StatsGrouping,
    /// Time zone of the daemon (`UTC`, `Europe/Berlin`), in which hours, days and weeks begin.
    pub time_zone: String,
    /// When the database was created. There is no earlier data.
    pub recorded_since: Timestamp,
    /// The sweep has removed history before this time. From earlier days, only spending by day or
    /// week is known: in total, by channel or by model. None = no sweep has run yet.
    pub kept_since: Option<Timestamp>,
    /// The periods, oldest first, at most 750. The last one may not be over.
    pub spans: Vec<StatsSpan>,
    /// The groups, highest cost or activity first: at most 20, fewer with many periods; then the
    /// others together as `(others)`.
    pub groups: Vec<StatsGroup>,
    /// Number of groups in `(others)`.
    pub more_groups: u64,
}

/// A period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StatsSpan {
    /// Start of the period.
    pub from: Timestamp,
    /// Start of the next period.
    pub until: Timestamp,
}

/// Numbers of a channel, model, tool or person over time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StatsGroup {
    /// Name of the group; `all` without grouping.
    pub name: String,
    /// Daily limit in US dollars from the configuration; none = no limit.
    pub day_budget_usd: Option<f64>,
    /// Sum of all periods, as far as known.
    pub total: StatsNumbers,
    /// Numbers for each period.
    pub points: Vec<StatsNumbers>,
}

/// What happened in a period.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StatsNumbers {
    /// Model calls; none = not known.
    pub models: Option<StatsModels>,
    /// Turns that ended; none = not known.
    pub turns: Option<StatsTurns>,
    /// Approvals; none = not known.
    pub approvals: Option<StatsApprovals>,
    /// Tool calls that ran; none = not known.
    pub tools: Option<StatsTools>,
    /// Messages to chats that were settled, counted in parts; none = not known.
    pub deliveries: Option<StatsDeliveries>,
}

/// Model calls, by the time when they began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StatsModels {
    /// Calls, failed ones included.
    pub calls: u64,
    /// Calls that got no answer.
    pub failed: u64,
    /// All input tokens, cached ones included.
    pub input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
    /// Input tokens read from the provider's prompt cache.
    pub cached_input_tokens: u64,
    /// Input tokens written to the provider's prompt cache.
    pub cache_write_tokens: u64,
    /// US dollars of the calls with a known price; none = there were calls, and none had one.
    pub cost_usd: Option<f64>,
    /// Tokens of the calls without a known price.
    pub unpriced_tokens: u64,
}

impl StatsModels {
    /// Percentage of the input that came from the provider's prompt cache; none = there was no
    /// input.
    pub fn cache_hit_percent(&self) -> Option<f64> {
        (self.input_tokens > 0)
            .then(|| self.cached_input_tokens as f64 * 100.0 / self.input_tokens as f64)
    }
}

/// Turns, by the time when they ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StatsTurns {
    /// Ended with an answer.
    pub completed: u64,
    /// Ended with an error.
    pub failed: u64,
    /// Cancelled, or expired because nobody decided.
    pub stopped: u64,
}

/// Approvals of a period.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StatsApprovals {
    /// Approvals that the engine asked in the period.
    pub asked: u64,
    /// Approvals that were allowed or answered in the period.
    pub allowed: u64,
    /// Approvals that were denied in the period.
    pub denied: u64,
    /// Approvals that expired in the period.
    pub expired: u64,
    /// Median wait for a person's decision, in milliseconds; none = nobody decided.
    pub median_wait_ms: Option<u64>,
}

/// Tool calls, by the time when they ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StatsTools {
    /// Calls that ran.
    pub calls: u64,
    /// Calls that failed, or whose outcome is unknown.
    pub failed: u64,
    /// Median run time in milliseconds; none = no call has a time.
    pub median_ms: Option<u64>,
}

/// Messages to chats, by the time when they were settled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StatsDeliveries {
    /// Parts that the platform accepted.
    pub sent: u64,
    /// Parts that could not be sent.
    pub failed: u64,
    /// Parts whose delivery is unknown.
    pub unknown: u64,
}
