//! Memory hygiene: what a run would archive or remove, what it did, and its undo.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::{Day, Timestamp};
use crate::protocol::enums::{HygieneReason, HygieneState, MemoryScope};
use crate::protocol::ids::{HygieneRunId, MemoryId};

/// Rows that one run archives or removes for one reason in one scope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HygieneGroup {
    /// Memory scope; none = the rows have no scope (orphans).
    pub scope: Option<MemoryScope>,
    /// Channel; none = the rows belong to no channel.
    pub channel: Option<String>,
    /// Kind of rows: `memories`, `vectors`, `index`, `artifacts`, `summaries`.
    pub what: String,
    /// Why they go.
    pub reason: HygieneReason,
    /// Number of rows.
    pub count: u64,
    /// Size in bytes.
    pub bytes: u64,
}

/// What a run does, or would do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HygieneReport {
    /// Rows by scope and reason.
    pub groups: Vec<HygieneGroup>,
    /// The affected memories, in the order of writing; at most 500.
    pub memories: Vec<MemoryId>,
    /// Number of memories that the run archives.
    pub archived: u64,
    /// Number of memories that the run removes for good: they were archived before, and their undo
    /// time has ended.
    pub removed: u64,
    /// Bytes of the texts of both.
    pub bytes: u64,
    /// Scopes that would lose more than half of their memories to retention at once. Such a run
    /// needs a person's confirmation.
    pub too_much: Vec<HygieneExcess>,
    /// Why the run ended early; none = it did everything.
    pub note: Option<String>,
}

/// A scope that would lose more than half of its memories to retention in one run. A wrong clock or
/// setting is more likely than that many old memories.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HygieneExcess {
    /// Memory scope.
    pub scope: MemoryScope,
    /// Memories that would be archived.
    pub count: u64,
    /// Memories in the scope.
    pub of: u64,
}

/// One memory hygiene run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HygieneRun {
    /// Id.
    pub id: HygieneRunId,
    /// State of the run.
    pub state: HygieneState,
    /// Who started it; `engine` = the schedule.
    pub by: String,
    /// What it did.
    pub report: HygieneReport,
    /// Number of memories that an undo restored.
    pub restored: u64,
    /// Bytes by which the database file shrank.
    pub freed_bytes: u64,
    /// Duration in milliseconds; none = it is running.
    pub duration_ms: Option<u64>,
    /// When it began.
    pub at: Timestamp,
    /// Until when an undo is possible.
    pub undo_until: Timestamp,
}

/// Sizes on a local day.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Growth {
    /// Local day.
    pub day: Day,
    /// Memories that are not archived.
    pub memories: u64,
    /// Archived memories.
    pub archived: u64,
    /// Stored embeddings.
    pub vectors: u64,
    /// Stored sessions.
    pub sessions: u64,
    /// Stored turns (continuations).
    pub continuations: u64,
    /// Bytes of the database file.
    pub database_bytes: u64,
    /// Bytes of its write-ahead log.
    pub log_bytes: u64,
    /// Bytes of artifacts and datasets.
    pub artifact_bytes: u64,
}

/// Settings, state and history of memory hygiene.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HygieneStatus {
    /// Days that a memory stays after its last use, by scope; 0 = for ever.
    pub retention_days: BTreeMap<MemoryScope, u32>,
    /// Most memories of one scope and channel.
    pub max_memories: u64,
    /// Days during which an undo is possible.
    pub undo_days: u32,
    /// Whether a run is in progress.
    pub running: bool,
    /// Why runs fail or cannot start; none = nothing is wrong.
    pub problem: Option<String>,
    /// The newest run; none = there was none.
    pub last: Option<HygieneRun>,
    /// When the next run is due; none = there never was a memory.
    pub next_at: Option<Timestamp>,
    /// Sizes at the moment.
    pub sizes: Growth,
    /// Sizes by local day, oldest first; at most 400 days.
    pub growth: Vec<Growth>,
}
