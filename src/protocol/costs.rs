//! Spending by channel, model or day, and use of today's budgets and of session budgets.
//!
//! An unknown amount is none, never zero.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::{Day, Timestamp};
use crate::protocol::enums::CostGrouping;
use crate::protocol::ids::SessionId;

/// Spending in a range of local days.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Costs {
    /// What the items are grouped by.
    pub by: CostGrouping,
    /// First local day.
    pub since: Day,
    /// Last local day.
    pub until: Day,
    /// One item for each channel, model or day with calls; days in order, other items by name.
    pub items: Vec<CostItem>,
    /// Sum of all items.
    pub total: CostItem,
    /// Date of the price table behind the estimated savings, `YYYY-MM-DD`.
    pub prices_as_of: String,
    /// Today's budgets that have a limit, then the budgets of open sessions with the highest use.
    pub budgets: Vec<BudgetUsage>,
    /// Number of further open sessions with a budget.
    #[serde(default)]
    pub more_sessions: u64,
}

/// Spending of one channel, model or day.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CostItem {
    /// Name of the channel or model, or the day.
    pub name: String,
    /// Model calls, failed ones included.
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
    /// US dollars of the calls with a known price; none = no call had one.
    pub cost_usd: Option<f64>,
    /// Tokens of the calls without a known price.
    pub unpriced_tokens: u64,
    /// Estimated US dollars that the provider's prompt cache saved at today's prices, less the
    /// extra cost of writing to it. None = no price is known. May be negative.
    pub prompt_cache_saved_usd: Option<f64>,
}

/// Use of a budget of today or of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BudgetUsage {
    /// Name of the budget: `day_tokens`, `day_cost`, `channel_tokens`, `channel_cost`,
    /// `session_tokens`, `session_cost`.
    pub budget: String,
    /// The channel; none = the budget belongs to no channel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// The session; none = the budget belongs to no session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// Limit in tokens or US dollars, including what people added.
    pub limit: f64,
    /// Tokens or US dollars used or reserved.
    pub used: f64,
    /// Part of `used` that calls in progress have reserved.
    #[serde(default)]
    pub reserved: f64,
    /// When the budget starts again; none = it lasts as long as its session.
    #[serde(default)]
    pub resets_at: Option<Timestamp>,
    /// Use in percent of the limit; 100 or more = used up.
    pub percent: f64,
}
