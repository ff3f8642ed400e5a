//! Limits on use: for one turn, and for a session, a channel or a day.

use serde::{Deserialize, Serialize};

/// The most that one turn may use. Zero allows none; it does not mean unlimited.
#[allow(
    clippy::struct_field_names,
    reason = "the names are those of the budgets of a request"
)]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TurnLimits {
    /// Most model steps.
    pub max_steps: u32,
    /// Most tool calls.
    pub max_tool_calls: u32,
    /// Most milliseconds of model and engine time.
    pub max_active_ms: u64,
    /// Most input plus output tokens.
    pub max_tokens: u64,
    /// Most US dollars; none = no limit in money.
    #[serde(default)]
    pub max_cost_usd: Option<f64>,
}

/// When the engine pauses a conversation; 0 = never.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FloodLimits {
    /// Denials in a row that pause it.
    pub denials: u32,
    /// Turns in ten minutes that pause it.
    pub turns: u32,
}

/// What a turn (continuation) has used of its [`TurnLimits`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TurnUsage {
    /// Recorded model steps.
    pub steps: u32,
    /// Proposed tool calls.
    pub tool_calls: u32,
    /// Milliseconds of model and engine time.
    pub active_ms: u64,
    /// Input plus output tokens of settled model calls.
    pub tokens: u64,
}

/// Limit in tokens and money for a session, a channel or a day; none = no limit. The configuration
/// has the same keys.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limit {
    /// Most input plus output tokens.
    pub max_tokens: Option<u64>,
    /// Most US dollars.
    pub max_cost_usd: Option<f64>,
}
