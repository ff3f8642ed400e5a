//! Hooks as surfaces see them: configuration, counters, and trial runs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::clock::Timestamp;
use crate::protocol::enums::HookPoint;

/// A hook at one of its points.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Hook {
    /// Name: `rate_limit`, `audit`, `redaction`, or a name of the configuration.
    pub name: String,
    /// When the engine calls it.
    pub point: HookPoint,
    /// Order of the calls: lower values first.
    pub priority: i32,
    /// Whether the hook is built in.
    pub built_in: bool,
    /// Whether the engine only counts its verdict.
    pub dry_run: bool,
    /// Channels that it is called for; empty = all channels.
    #[serde(default)]
    pub channels: Vec<String>,
    /// Tools that it is called for, at points about tools; empty = all tools.
    #[serde(default)]
    pub tools: Vec<String>,
    /// Most milliseconds that it may take.
    pub timeout_ms: u64,
    /// Counters since the start of the daemon.
    pub counts: HookCounts,
    /// Until when the engine does not call it, because it failed too often; a modifying hook then
    /// refuses what it would check.
    pub broken_until: Option<Timestamp>,
    /// Why the engine refuses to run its program, for example because others can write to it or it
    /// is missing. None = it may run.
    #[serde(default)]
    pub refused: Option<String>,
    /// The last error, redacted.
    pub last_error: Option<String>,
}

/// Counters of a hook since the start of the daemon.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HookCounts {
    /// Number of calls.
    pub runs: u64,
    /// Calls that changed something.
    pub changes: u64,
    /// Calls that cancelled something.
    pub cancels: u64,
    /// Calls that failed or took too long.
    pub failures: u64,
    /// Calls skipped because it failed too often.
    pub skipped: u64,
    /// Calls of an observer skipped because its queue was full: it is too slow.
    #[serde(default)]
    pub dropped: u64,
    /// 95th percentile of the last 256 calls, in microseconds; 0 = there was no call.
    pub p95_us: u64,
}

/// The verdict of a hook, or its failure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum HookVerdict {
    /// No objection and no change.
    Pass,
    /// Go on with a changed value.
    Change {
        /// The changed field: `args`, `text`.
        field: String,
        /// The new value.
        value: Value,
    },
    /// Cancel the action.
    Cancel {
        /// Why the hook cancels: untrusted text, which the model reads.
        reason: String,
    },
    /// The hook failed.
    Failed {
        /// Why it failed, redacted.
        error: String,
    },
}

/// What a hook did to a call. The engine stores it with the call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HookNote {
    /// Name of the hook.
    pub hook: String,
    /// When the engine called it.
    pub point: HookPoint,
    /// Whether it was the second call right before the start, where a hook may only cancel.
    #[serde(default)]
    pub at_start: bool,
    /// Whether the engine only counted the verdict.
    #[serde(default)]
    pub dry_run: bool,
    /// The verdict; long values are cut. Untrusted text.
    #[serde(flatten)]
    pub verdict: HookVerdict,
    /// The previous value of a changed field, redacted; long values are cut. None = it must not be
    /// shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// When the hook ran.
    pub at: Timestamp,
}

/// Result of a trial run of a hook.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HookTrial {
    /// The verdict of the hook.
    pub verdict: HookVerdict,
    /// How long it took, in microseconds.
    pub duration_us: u64,
}
