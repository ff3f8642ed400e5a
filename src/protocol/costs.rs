//! What was spent, by channel, model or day, and how far the budgets of today and of the sessions are used up.
//!
//! An amount that is not known is none, never zero.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::{Day, Timestamp};
use crate::protocol::enums::CostGrouping;
use crate::protocol::ids::SessionId;

/// What was spent in a span of local days.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Costs {
    /// What the items are.
    pub by: CostGrouping,
    /// First day.
    pub since: Day,
    /// Last day.
    pub until: Day,
    /// One for each channel, model or day with calls; days in order, others by name.
    pub items: Vec<CostItem>,
    /// All of them.
    pub total: CostItem,
    /// Date of the price table that savings are estimated with, `YYYY-MM-DD`.
    pub prices_as_of: String,
    /// The budgets of today that have a limit, then those of the open sessions that are used up the furthest.
    pub budgets: Vec<BudgetUsage>,
    /// Open sessions with a budget beyond those.
    #[serde(default)]
    pub more_sessions: u64,
}

/// What was spent on one channel, model or day.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CostItem {
    /// Its name.
    pub name: String,
    /// Model calls, failed ones included.
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
    /// US dollars of the calls that had a price; none where none had.
    pub cost_usd: Option<f64>,
    /// Tokens of the calls that had no price.
    pub unpriced_tokens: u64,
    /// Estimate of what the provider's prompt cache saved, less what writing to it cost more, at the prices of today;
    /// none where no price is known. May be negative.
    pub prompt_cache_saved_usd: Option<f64>,
}

/// How far a budget of today, or of a session, is used up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BudgetUsage {
    /// Which: `day_tokens`, `day_cost`, `channel_tokens`, `channel_cost`, `session_tokens`, `session_cost`.
    pub budget: String,
    /// The channel, where it is of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// The session, where it is of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// Tokens or US dollars, with what people added.
    pub limit: f64,
    /// Tokens or US dollars that are used or reserved.
    pub used: f64,
    /// The part of them that calls under way have reserved.
    #[serde(default)]
    pub reserved: f64,
    /// When it begins anew; none = it lasts as long as its session.
    #[serde(default)]
    pub resets_at: Option<Timestamp>,
    /// Of the limit; 100 and more = used up.
    pub percent: f64,
}
