//! What may be used: by one turn, and by a session, a channel or a day.

use serde::{Deserialize, Serialize};

/// The most that one turn may use; zero means "none allowed", not "unlimited".
#[allow(
    clippy::struct_field_names,
    reason = "the names are those of the budgets of a request"
)]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TurnLimits {
    /// Model steps.
    pub max_steps: u32,
    /// Tool calls.
    pub max_tool_calls: u32,
    /// Milliseconds of model and engine time.
    pub max_active_ms: u64,
    /// Input plus output tokens.
    pub max_tokens: u64,
    /// US dollars; none = no limit in money.
    #[serde(default)]
    pub max_cost_usd: Option<f64>,
}

/// What pauses a conversation; 0 = it does not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FloodLimits {
    /// Denials in a row.
    pub denials: u32,
    /// Turns in ten minutes.
    pub turns: u32,
}

/// What a continuation has used of its [`TurnLimits`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TurnUsage {
    /// Model steps recorded.
    pub steps: u32,
    /// Tool calls proposed.
    pub tool_calls: u32,
    /// Milliseconds of model and engine time.
    pub active_ms: u64,
    /// Input plus output tokens of settled model calls.
    pub tokens: u64,
}

/// Tokens and money of a session, a channel or a day; none = no limit. The configuration writes it so too.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limit {
    /// Input plus output tokens.
    pub max_tokens: Option<u64>,
    /// US dollars.
    pub max_cost_usd: Option<f64>,
}
