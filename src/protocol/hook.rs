//! Hooks as surfaces see them: what is registered, how it does, and trying one out.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::clock::Timestamp;
use crate::protocol::enums::HookPoint;

/// One hook at one point.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Hook {
    /// Its name: `rate_limit`, `audit`, `redaction`, or as configured.
    pub name: String,
    /// When it is called.
    pub point: HookPoint,
    /// Lower ones are called first.
    pub priority: i32,
    /// Whether it is part of the program.
    pub built_in: bool,
    /// Its verdict is only counted.
    pub dry_run: bool,
    /// Only on these channels; empty = on all.
    #[serde(default)]
    pub channels: Vec<String>,
    /// Only for these tools, where it is called for a tool; empty = for all.
    #[serde(default)]
    pub tools: Vec<String>,
    /// Milliseconds it may take.
    pub timeout_ms: u64,
    /// Its counters.
    pub counts: HookCounts,
    /// Until when it is not called because it failed too often; a modifying hook refuses what it cannot check.
    pub broken_until: Option<Timestamp>,
    /// Why its program may not be run as it lies there: others can write it, it is missing. None = it may.
    #[serde(default)]
    pub refused: Option<String>,
    /// The last thing that went wrong, redacted.
    pub last_error: Option<String>,
}

/// What a hook did since this process started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HookCounts {
    /// Calls.
    pub runs: u64,
    /// Calls that changed something.
    pub changes: u64,
    /// Calls that cancelled something.
    pub cancels: u64,
    /// Calls that failed or took too long.
    pub failures: u64,
    /// Calls left out because it failed too often.
    pub skipped: u64,
    /// Calls of an observer left out because it is too slow: its queue was full.
    #[serde(default)]
    pub dropped: u64,
    /// 95th percentile of the last 256 calls, in microseconds; 0 where there was none.
    pub p95_us: u64,
}

/// What a hook said, or what became of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum HookVerdict {
    /// Nothing to say.
    Pass,
    /// Go on with this instead.
    Change {
        /// Which field: `args`, `text`.
        field: String,
        /// As it should be.
        value: Value,
    },
    /// Do not do it.
    Cancel {
        /// Why: outside text; the model reads it.
        reason: String,
    },
    /// It failed.
    Failed {
        /// Why, redacted.
        error: String,
    },
}

/// What a hook did to a call, as it is kept with it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HookNote {
    /// Its name.
    pub hook: String,
    /// When it was called.
    pub point: HookPoint,
    /// It was the second look, right before the start, where it may only veto.
    #[serde(default)]
    pub at_start: bool,
    /// Nothing followed from it.
    #[serde(default)]
    pub dry_run: bool,
    /// What it said; a long value is cut. Outside text.
    #[serde(flatten)]
    pub verdict: HookVerdict,
    /// What it changed as it was before, redacted; a long value is cut. None where nothing may be shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// When.
    pub at: Timestamp,
}

/// What a trial of a hook came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HookTrial {
    /// What it said.
    pub verdict: HookVerdict,
    /// Microseconds it took.
    pub duration_us: u64,
}
