//! Policy of a channel: autonomy level and tool lists, with a version.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::protocol::enums::{Access, Autonomy, Risk, VerdictKind};

/// How the rule text of a verdict from the `always_ask` list begins.
pub const ALWAYS_ASK_LIST: &str = "always_ask list";

/// The policy of a channel in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Policy {
    /// Rises by one with each change.
    pub version: u64,
    /// Autonomy level.
    pub autonomy: Autonomy,
    /// When a temporary level ends and [`Policy::reverts_to`] applies; none = permanent.
    pub expires_at: Option<Timestamp>,
    /// The level after [`Policy::expires_at`].
    pub reverts_to: Option<Autonomy>,
    /// Tool names (or `prefix*`) that run without asking.
    pub auto_approve: Vec<String>,
    /// Tool names (or `prefix*`) that never run.
    pub block: Vec<String>,
    /// Tool names (or `prefix*`) that always ask.
    pub always_ask: Vec<String>,
}

/// A change to a policy; absent fields stay as they are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicyPatch {
    /// New autonomy level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub autonomy: Option<Autonomy>,
    /// New list of tool names (or `prefix*`) that run without asking. It replaces the old list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_approve: Option<Vec<String>>,
    /// New list of tool names (or `prefix*`) that never run. It replaces the old list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<Vec<String>>,
    /// New list of tool names (or `prefix*`) that always ask. It replaces the old list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub always_ask: Option<Vec<String>>,
    /// Seconds until the new level ends; `full` without this value gets 3600.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in_seconds: Option<u64>,
    /// Only change the policy if it still has this version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub if_version: Option<u64>,
}

impl PolicyPatch {
    /// A change of the autonomy level.
    pub fn level(autonomy: Autonomy) -> Self {
        Self {
            autonomy: Some(autonomy),
            ..Self::default()
        }
    }

    /// The policy after this change; version and expiry stay.
    pub fn applied(&self, policy: Policy) -> Policy {
        let list = |new: &Option<Vec<String>>, old| new.clone().unwrap_or(old);
        Policy {
            autonomy: self.autonomy.unwrap_or(policy.autonomy),
            auto_approve: list(&self.auto_approve, policy.auto_approve),
            block: list(&self.block, policy.block),
            always_ask: list(&self.always_ask, policy.always_ask),
            ..policy
        }
    }
}

/// What the lists of a policy say about a tool, from least to most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ToolListing {
    /// On `block`: it never runs.
    Blocked,
    /// On `always_ask`: it always asks.
    AlwaysAsks,
    /// On no list: the autonomy level decides.
    Level,
    /// On `auto_approve`: it runs without asking.
    RunsAlone,
}

impl ToolListing {
    /// All values, in order.
    pub const ALL: [Self; 4] = [
        Self::Blocked,
        Self::AlwaysAsks,
        Self::Level,
        Self::RunsAlone,
    ];

    /// The value in words.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Blocked => "never runs",
            Self::AlwaysAsks => "always asks",
            Self::Level => "the level decides",
            Self::RunsAlone => "runs alone",
        }
    }
}

impl Policy {
    /// What the lists say about a tool name, or about a prefix in them.
    pub fn standing(&self, entry: &str) -> ToolListing {
        let has = |list: &[String]| list.iter().any(|known| known == entry);
        if has(&self.block) {
            ToolListing::Blocked
        } else if has(&self.always_ask) {
            ToolListing::AlwaysAsks
        } else if has(&self.auto_approve) {
            ToolListing::RunsAlone
        } else {
            ToolListing::Level
        }
    }

    /// The change that moves tools into one list and out of the others, or out of all lists.
    pub fn placing(&self, tools: &[String], standing: ToolListing) -> PolicyPatch {
        let changed = |before: &[String], own: ToolListing| {
            let stays = |entry: &&String| standing == own || !tools.contains(entry);
            let mut after: Vec<String> = before.iter().filter(stays).cloned().collect();
            for tool in tools.iter().filter(|_| standing == own) {
                if !after.contains(tool) {
                    after.push(tool.clone());
                }
            }
            (after != before).then_some(after)
        };
        PolicyPatch {
            auto_approve: changed(&self.auto_approve, ToolListing::RunsAlone),
            block: changed(&self.block, ToolListing::Blocked),
            always_ask: changed(&self.always_ask, ToolListing::AlwaysAsks),
            ..PolicyPatch::default()
        }
    }
}

/// The verdict of the policy about a call, with the rule behind it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// Allow, ask or deny.
    pub decision: VerdictKind,
    /// The deciding rule in words, for example ``autonomy supervised: everything not auto-approved
    /// asks``.
    pub rule: String,
    /// Version of the policy that gave the verdict.
    pub policy_version: u64,
}

/// A past call in a what-if, with its verdict under another level.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WhatIfCall {
    /// Tool name.
    pub tool: String,
    /// One-line preview of the arguments: untrusted text.
    pub preview: String,
    /// The most that the call can touch.
    pub access: Access,
    /// How much harm the call can do.
    pub risk: Risk,
    /// The actual verdict.
    pub was: VerdictKind,
    /// The verdict under the other level.
    pub would_be: Verdict,
    /// When the call was proposed.
    pub at: Timestamp,
}

impl WhatIf {
    /// The calls whose verdict would differ.
    pub fn changed(&self) -> impl Iterator<Item = &WhatIfCall> {
        let calls = self.calls.iter();
        calls.filter(|call| call.was != call.would_be.decision)
    }
}

/// "Of the last N calls on this channel, M would have run without you."
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WhatIf {
    /// Channel name.
    pub channel: String,
    /// The level that was tried.
    pub autonomy: Autonomy,
    /// Number of past calls examined.
    pub considered: u32,
    /// Number of these calls that would run without asking under [`WhatIf::autonomy`].
    pub would_run: u32,
    /// Number of those that asked, or were refused, when they happened.
    pub newly_unattended: u32,
    /// The calls, newest first.
    pub calls: Vec<WhatIfCall>,
}
