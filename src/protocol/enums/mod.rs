//! The closed enums: states, classes and levels, each value with one fixed word.
//!
//! Code, database, API, screens and documentation use the same word. This module only names and orders values; the
//! store checks legal transitions, and the engine's policy decides verdicts.

/// A word that is none of the values of an enum.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{word}` is not a {vocabulary}: expected one of {expected}")]
pub struct UnknownValue {
    /// Name of the enum, for example `autonomy`.
    pub vocabulary: &'static str,
    /// The unknown word, shortened to 64 characters.
    pub word: String,
    /// The accepted words, comma separated.
    pub expected: String,
}

macro_rules! string_enum {
    ($(#[doc = $doc:literal])* $name:ident as $vocabulary:literal { $($(#[doc = $vdoc:literal])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[doc = $doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[doc = $vdoc])* $variant),+ }

        impl $name {
            /// Every value, in declaration order.
            pub const ALL: &'static [$name] = &[$($name::$variant),+];

            /// The fixed word of this value.
            pub const fn as_str(self) -> &'static str {
                match self { $($name::$variant => $word),+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = crate::protocol::enums::UnknownValue;

            fn from_str(word: &str) -> Result<Self, crate::protocol::enums::UnknownValue> {
                match word {
                    $($word => Ok($name::$variant),)+
                    _ => Err(crate::protocol::enums::UnknownValue {
                        vocabulary: $vocabulary,
                        word: word.chars().take(64).collect(),
                        expected: [$($word),+].join(", "),
                    }),
                }
            }
        }

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                crate::protocol::schema::vocabulary(concat!($($doc, "\n"),*), &[$(($word, concat!($($vdoc),*))),+])
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let word = <std::borrow::Cow<'de, str> as serde::Deserialize>::deserialize(deserializer)?;
                word.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

mod agents;
mod approvals;
mod automation;
mod caches;
mod datasets;
mod delivery;
mod log;
mod mcp;
mod memory;
mod sessions;
mod skills;

pub use agents::{AgentJobState, ExternalAgent, GateVerdict, ReportOutcome};
pub use approvals::{
    Access, ApprovalKind, ApprovalState, Autonomy, DecisionKind, DecisionScope, Effect, Risk, Role,
    RuleMatcher, RuleScope, Scope, Surface, Unattended, VerdictKind,
};
pub use automation::{HookPoint, MissedRuns, ReloadEffect, RoutineRunState};
pub use caches::{
    CacheEviction, CacheMissReason, CacheScope, CacheSkipReason, CostGrouping, StatsFormat,
    StatsGrouping, StatsStep, ToolCacheMiss, ToolCacheSkipReason,
};
pub use datasets::{AggregateFunction, ColumnType, Comparison, DatasetFormat};
pub use delivery::{
    ChannelKind, ChannelState, Disposition, FloodKind, OutboxClass, OutboxState, PairingState,
};
pub use log::LogLevel;
pub use mcp::{McpEra, McpServerState, McpToolState, McpTransport};
pub use memory::{
    HygieneReason, HygieneState, MemoryAuthor, MemoryKind, MemoryScope, MemoryState, SearchMethod,
};
pub use sessions::{
    CitationKind, CompactionState, ContinuationState, InterpreterKind, InterpreterState,
    SessionState, StepKind, ToolCallState,
};
pub use skills::{SkillKind, SkillState};
