//! Cost and health over time: what happened in each span of time, in groups.
//!
//! What is not known is none, never zero: before the first record, where the sweep has removed history, and what a
//! group does not have (a model has no deliveries).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::protocol::enums::{StatsGrouping, StatsStep};

/// Spans of one answer at most.
pub const MOST_SPANS: usize = 750;

/// The group that holds what has no group of its own.
pub const OTHERS: &str = "(others)";

/// Cost and health over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stats {
    /// How long the spans are.
    pub step: StatsStep,
    /// What the groups are.
    pub by: StatsGrouping,
    /// The zone in which hours, days and weeks begin: that of the daemon, by its name (`UTC`, `Europe/Berlin`).
    pub time_zone: String,
    /// When the database was made. There is nothing from before.
    pub recorded_since: Timestamp,
    /// The sweep removes history from before this time. Of what is older, only spending by day or week, of everything,
    /// a channel or a model, is known. None = no sweep has run yet.
    pub kept_since: Option<Timestamp>,
    /// The spans, oldest first, at most 750. The last one may not be over.
    pub spans: Vec<StatsSpan>,
    /// What cost or did most comes first. At most 20, fewer where there are many spans; then the others together as
    /// `(others)`.
    pub groups: Vec<StatsGroup>,
    /// How many groups `(others)` holds.
    pub more_groups: u64,
}

/// A span of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StatsSpan {
    /// When it begins.
    pub from: Timestamp,
    /// When the next one begins.
    pub until: Timestamp,
}

/// A channel, model, tool or person over time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StatsGroup {
    /// Its name; `all` where nothing is grouped.
    pub name: String,
    /// The limit of US dollars a day of the configuration; none = there is none.
    pub day_budget_usd: Option<f64>,
    /// All of its spans together, as far as they are known.
    pub total: StatsNumbers,
    /// One for each span.
    pub points: Vec<StatsNumbers>,
}

/// What happened in a span of time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StatsNumbers {
    /// Calls of models; none = not known.
    pub models: Option<StatsModels>,
    /// Turns that ended; none = not known.
    pub turns: Option<StatsTurns>,
    /// Questions to people; none = not known.
    pub approvals: Option<StatsApprovals>,
    /// Calls of tools that ran; none = not known.
    pub tools: Option<StatsTools>,
    /// Messages to chats that were settled, by part; none = not known.
    pub deliveries: Option<StatsDeliveries>,
}

/// Calls of models, by when they began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StatsModels {
    /// Calls, failed ones included.
    pub calls: u64,
    /// Calls without an answer.
    pub failed: u64,
    /// All input tokens, cached ones included.
    pub input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
    /// Input tokens read from the provider's prompt cache.
    pub cached_input_tokens: u64,
    /// Input tokens written to it.
    pub cache_write_tokens: u64,
    /// US dollars of the calls that had a price; none where calls were made and none had one.
    pub cost_usd: Option<f64>,
    /// Tokens of the calls that had no price.
    pub unpriced_tokens: u64,
}

impl StatsModels {
    /// Percent of the input that was read from the provider's prompt cache; none = there was no input.
    pub fn cache_hit_percent(&self) -> Option<f64> {
        (self.input_tokens > 0)
            .then(|| self.cached_input_tokens as f64 * 100.0 / self.input_tokens as f64)
    }
}

/// Turns, by when they ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StatsTurns {
    /// With an answer.
    pub completed: u64,
    /// With an error.
    pub failed: u64,
    /// Cancelled, or expired because nobody answered.
    pub stopped: u64,
}

/// Questions to people.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StatsApprovals {
    /// Questions that were asked in the span.
    pub asked: u64,
    /// Questions that were allowed or answered in it.
    pub allowed: u64,
    /// Questions that were denied in it.
    pub denied: u64,
    /// Questions that expired in it.
    pub expired: u64,
    /// Milliseconds from the question to the answer of a person: half of them waited longer. None = nobody answered.
    pub median_wait_ms: Option<u64>,
}

/// Calls of tools, by when they ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StatsTools {
    /// Calls that ran.
    pub calls: u64,
    /// Those of them that failed, or whose outcome nobody knows.
    pub failed: u64,
    /// Milliseconds that a call ran: half of them took longer. None = no call has a time.
    pub median_ms: Option<u64>,
}

/// Messages to chats, by when they were settled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StatsDeliveries {
    /// Parts that the platform took.
    pub sent: u64,
    /// Parts that could not be sent.
    pub failed: u64,
    /// Parts of which nobody knows whether they were sent.
    pub unknown: u64,
}
