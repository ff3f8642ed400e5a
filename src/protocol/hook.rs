//! Hooks as surfaces see them: what is registered, how it does, and trying one out.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::clock::Timestamp;
use crate::protocol::words::HookPoint;

/// One hook at one point.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Only for this channel; none = all.
    pub channel: Option<String>,
    /// Milliseconds it may take.
    pub timeout_ms: u64,
    /// Its counters.
    pub counts: HookCounts,
    /// Until when it is not called because it failed too often; a modifying hook refuses what it cannot check.
    pub broken_until: Option<Timestamp>,
    /// The last thing that went wrong, redacted.
    pub last_error: Option<String>,
}

/// What a hook did since this process started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
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
    /// 95th percentile of the last 256 calls, in microseconds.
    pub p95_us: u64,
}

/// What a hook said, or what became of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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

/// What a trial of a hook came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HookTrial {
    /// What it said.
    pub verdict: HookVerdict,
    /// Microseconds it took.
    pub duration_us: u64,
}

/// What can be done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum HookCommand {
    /// Calls it with an example, or with this; nothing follows from what it says.
    Try {
        /// Which.
        name: String,
        /// At which of its points; none = its first.
        #[serde(default)]
        point: Option<HookPoint>,
        /// What it reads; none = an example.
        #[serde(default)]
        input: Option<Value>,
    },
    /// Calls it again although it failed too often.
    Reset {
        /// Which.
        name: String,
    },
}

/// What came of a [`HookCommand`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "of", content = "value", rename_all = "snake_case")]
pub enum HookOutcome {
    /// Of a trial.
    Tried(HookTrial),
    /// As its points are now.
    Hooks(Vec<Hook>),
}
