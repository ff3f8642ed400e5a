//! Hygiene of the memory: what would go, what went, and taking it back.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::{Day, Timestamp};
use crate::protocol::enums::{HygieneReason, HygieneState, MemoryScope};
use crate::protocol::ids::{HygieneRunId, MemoryId};

/// What goes for one reason in one scope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HygieneGroup {
    /// Scope; none for what has none (orphans).
    pub scope: Option<MemoryScope>,
    /// Channel, where it is of one.
    pub channel: Option<String>,
    /// What kind of rows: `memories`, `vectors`, `index`, `artifacts`, `summaries`.
    pub what: String,
    /// Why.
    pub reason: HygieneReason,
    /// How many.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// What a run does, or would do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HygieneReport {
    /// By scope and reason.
    pub groups: Vec<HygieneGroup>,
    /// The memories concerned, in the order in which they were written; at most 500.
    pub memories: Vec<MemoryId>,
    /// Memories that are archived.
    pub archived: u64,
    /// Memories that are removed for good: they were archived before, and the time to undo that is over.
    pub removed: u64,
    /// Bytes of the texts of both.
    pub bytes: u64,
    /// Scopes that would lose more than half to retention at once: only a person who says so may run it then.
    pub too_much: Vec<HygieneExcess>,
    /// Why it ended before it did everything.
    pub note: Option<String>,
}

/// A scope that would lose more than half of what it holds to retention in one run: more likely a clock that is wrong,
/// or a setting, than memories that are old.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HygieneExcess {
    /// Which.
    pub scope: MemoryScope,
    /// Memories that would go.
    pub count: u64,
    /// Memories that it holds.
    pub of: u64,
}

/// One run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HygieneRun {
    /// Id.
    pub id: HygieneRunId,
    /// Where it stands.
    pub state: HygieneState,
    /// Who asked for it; `engine` = by itself.
    pub by: String,
    /// What it did.
    pub report: HygieneReport,
    /// Memories that an undo brought back.
    pub restored: u64,
    /// Bytes by which the database file became shorter.
    pub freed_bytes: u64,
    /// Milliseconds it took.
    pub duration_ms: Option<u64>,
    /// When it began.
    pub at: Timestamp,
    /// Until when it can be taken back.
    pub undo_until: Timestamp,
}

/// Sizes on a local day.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Growth {
    /// Local day.
    pub day: Day,
    /// Remembered things that are not archived.
    pub memories: u64,
    /// Archived ones.
    pub archived: u64,
    /// Embeddings.
    pub vectors: u64,
    /// Sessions.
    pub sessions: u64,
    /// Turns.
    pub continuations: u64,
    /// Bytes of the database file.
    pub database_bytes: u64,
    /// Bytes of its write-ahead log.
    pub log_bytes: u64,
    /// Bytes of artifacts and datasets.
    pub artifact_bytes: u64,
}

/// Everything about hygiene.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HygieneStatus {
    /// Days that memories are kept after their last use, by scope; 0 = for ever.
    pub retention_days: BTreeMap<MemoryScope, u32>,
    /// Most memories of one scope and channel.
    pub max_memories: u64,
    /// Days within which a run can be taken back.
    pub undo_days: u32,
    /// Whether one is under way.
    pub running: bool,
    /// What stands in its way.
    pub problem: Option<String>,
    /// The newest run.
    pub last: Option<HygieneRun>,
    /// When the next one is due; none = nothing was ever remembered.
    pub next_at: Option<Timestamp>,
    /// Sizes now.
    pub sizes: Growth,
    /// By local day, oldest first; at most 400.
    pub growth: Vec<Growth>,
}
