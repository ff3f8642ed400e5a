//! A channel's policy: autonomy and lists, versioned.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::protocol::enums::{Access, Autonomy, Risk, VerdictKind};

/// What the text of a verdict begins with that the `always_ask` list gave.
pub const ALWAYS_ASK_LIST: &str = "always_ask list";

/// The policy of a channel as it is in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Policy {
    /// Rises by one with every change.
    pub version: u64,
    /// The level.
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
    /// New level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub autonomy: Option<Autonomy>,
    /// Tool names (or `prefix*`) that run without asking, instead of the present ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_approve: Option<Vec<String>>,
    /// Tool names (or `prefix*`) that never run, instead of the present ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<Vec<String>>,
    /// Tool names (or `prefix*`) that always ask, instead of the present ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub always_ask: Option<Vec<String>>,
    /// The new level holds this long. `full` without it gets 3 600.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in_seconds: Option<u64>,
    /// Apply only if the policy still has this version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub if_version: Option<u64>,
}

impl PolicyPatch {
    /// A change of the level.
    pub fn level(autonomy: Autonomy) -> Self {
        Self {
            autonomy: Some(autonomy),
            ..Self::default()
        }
    }

    /// The policy with this change; version and expiry stay.
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

/// How much a tool may do by the lists of a policy, from least to most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ToolListing {
    /// On the list `block`: it never runs.
    Blocked,
    /// On the list `always_ask`.
    AlwaysAsks,
    /// On no list: the level decides.
    Level,
    /// On the list `auto_approve`: it runs without asking.
    RunsAlone,
}

impl ToolListing {
    /// Every standing, in order.
    pub const ALL: [Self; 4] = [
        Self::Blocked,
        Self::AlwaysAsks,
        Self::Level,
        Self::RunsAlone,
    ];

    /// In words.
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
    /// What the lists say of a name, or of a prefix that stands in them.
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

    /// The change that puts tools into one list and out of the others, or out of all.
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

/// What the policy said about one call, with the text of the rule that said it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// allow, ask or deny.
    pub decision: VerdictKind,
    /// The rule in words, for example ``autonomy supervised: everything not auto-approved asks``.
    pub rule: String,
    /// Version of the policy that was asked.
    pub policy_version: u64,
}

/// One call of a what-if: what would have happened under another level.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WhatIfCall {
    /// Tool name.
    pub tool: String,
    /// One-line preview of the arguments.
    pub preview: String,
    /// Its access.
    pub access: Access,
    /// Its risk.
    pub risk: Risk,
    /// What happened.
    pub was: VerdictKind,
    /// What would have happened.
    pub would_be: Verdict,
    /// When.
    pub at: Timestamp,
}

impl WhatIf {
    /// The calls that would have ended otherwise.
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
    /// How many calls were looked at.
    pub considered: u32,
    /// How many would run without asking under [`WhatIf::autonomy`].
    pub would_run: u32,
    /// How many of those asked (or were refused) when they happened.
    pub newly_unattended: u32,
    /// The calls, newest first.
    pub calls: Vec<WhatIfCall>,
}
