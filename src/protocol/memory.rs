//! Memories: facts and pins, the rolling summary of a session, and its compactions.
//!
//! All texts are untrusted, whoever wrote them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::protocol::enums::{
    CompactionState, MemoryAuthor, MemoryKind, MemoryScope, MemoryState, SearchMethod,
};
use crate::protocol::ids::{CompactionId, ContinuationId, HygieneRunId, MemoryId, SessionId};

/// Most bytes of the text of one memory.
pub const MAX_TEXT: usize = 4 * 1024;

/// Most items of one import.
pub const MAX_IMPORT: usize = 10_000;

/// A memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Memory {
    /// Id.
    pub id: MemoryId,
    /// Where it is recalled.
    pub scope: MemoryScope,
    /// Session of a session memory; none = it has another scope.
    pub session_id: Option<SessionId>,
    /// Channel; none = it is recalled everywhere.
    pub channel: Option<String>,
    /// Kind of the memory.
    pub kind: MemoryKind,
    /// The remembered text: untrusted.
    pub text: String,
    /// Who wrote it.
    pub author: MemoryAuthor,
    /// Label of the author: platform id, operator's name or `<provider>/<model>`.
    pub author_id: String,
    /// Stable platform id of the sender of the message that it came from.
    pub person_id: Option<String>,
    /// The turn that it came from.
    pub source: Option<ContinuationId>,
    /// Platform id of the message that it came from.
    pub message_ref: Option<String>,
    /// 0 to 1; a memory that a person wrote has 1.
    pub confidence: f64,
    /// Untrusted content that was in the context when it was written.
    pub taint: Vec<String>,
    /// Whether it goes into every context of its scope and is never archived.
    pub pinned: bool,
    /// State of the memory.
    pub state: MemoryState,
    /// The memory hygiene run that archived it.
    pub archived_by: Option<HygieneRunId>,
    /// The memory that replaced it.
    pub superseded_by: Option<MemoryId>,
    /// How often it went into a context.
    pub uses: u64,
    /// When it was written.
    pub created_at: Timestamp,
    /// Last change of its text or state.
    pub updated_at: Timestamp,
    /// When it last went into a context.
    pub last_used_at: Option<Timestamp>,
    /// When it expires; none = it has no end of its own.
    pub expires_at: Option<Timestamp>,
}

/// Where a memory belongs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "scope", rename_all = "snake_case")]
pub enum MemoryTarget {
    /// To a session.
    Session {
        /// Session id.
        session_id: SessionId,
    },
    /// To a channel.
    Channel {
        /// Channel name.
        channel: String,
    },
    /// To all sessions.
    Global,
}

/// The rolling summary of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// Its session.
    pub session_id: SessionId,
    /// Rises with each compaction.
    pub version: u64,
    /// The summary: untrusted text.
    pub text: String,
    /// Number of turns that it replaces.
    pub turns: u64,
    /// `<provider>/<model>` that wrote it.
    pub model: String,
    /// Untrusted content among its sources.
    pub taint: Vec<String>,
    /// When it was written.
    pub at: Timestamp,
}

/// Counters of the memory of a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionMemory {
    /// Version of its summary; 0 = it has no summary.
    pub summary_version: u64,
    /// Bytes of its summary.
    pub summary_bytes: u64,
    /// Number of turns that the summary replaces.
    pub covered_turns: u64,
    /// Memories of this session that are recalled.
    pub facts: u64,
    /// Memories of this session that wait for a person.
    pub proposed: u64,
    /// Stored compactions that succeeded.
    pub compactions: u64,
    /// Stored compactions that failed.
    pub failed_compactions: u64,
}

/// One compaction of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Compaction {
    /// Id.
    pub id: CompactionId,
    /// Its session.
    pub session_id: SessionId,
    /// State of the compaction.
    pub state: CompactionState,
    /// `<provider>/<model>` that writes the summary.
    pub model: String,
    /// Number of turns that it covers.
    pub turns: u64,
    /// Number of facts that it found.
    pub facts: u64,
    /// Estimated tokens of the next prompt before the compaction.
    pub tokens_before: u64,
    /// Estimated tokens of the next prompt after it; none = not known.
    pub tokens_after: Option<u64>,
    /// Why it failed; none = it did not fail.
    pub error: Option<String>,
    /// When it began.
    pub started_at: Timestamp,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
}

/// A memory that a search found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryHit {
    /// The memory.
    #[serde(flatten)]
    pub memory: Memory,
    /// How the search found it.
    pub found_by: SearchMethod,
}

/// Result of a search.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryMatch {
    /// Memories, best match first.
    pub items: Vec<MemoryHit>,
    /// Always none: a search has one page.
    #[serde(default)]
    pub next_cursor: Option<String>,
    /// Why the search only compared words although embeddings are configured.
    #[serde(default)]
    pub words_only: Option<String>,
}

/// Filter for memories.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryFilter {
    /// Only this scope.
    #[serde(default)]
    pub scope: Option<MemoryScope>,
    /// Only this session.
    #[serde(default)]
    pub session_id: Option<SessionId>,
    /// Only this channel.
    #[serde(default)]
    pub channel: Option<String>,
    /// Only this state; none = all but archived ones.
    #[serde(default)]
    pub state: Option<MemoryState>,
    /// Only memories of this person (stable platform id).
    #[serde(default)]
    pub person: Option<String>,
    /// True = only pinned ones; false = only others.
    #[serde(default)]
    pub pinned: Option<bool>,
}

/// One line of an export.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryImport {
    /// Where the memory belongs.
    pub place: MemoryTarget,
    /// The remembered text.
    pub text: String,
    /// Kind of the memory.
    #[serde(default)]
    pub kind: Option<MemoryKind>,
    /// Whether it is pinned.
    #[serde(default)]
    pub pinned: bool,
    /// Who wrote it; none = the importer.
    #[serde(default)]
    pub author: Option<MemoryAuthor>,
    /// Label of the author; none = the importer's label.
    #[serde(default)]
    pub author_id: Option<String>,
    /// Stable platform id of the sender of the message that it came from.
    #[serde(default)]
    pub person_id: Option<String>,
    /// Confidence from 0 to 1.
    #[serde(default)]
    pub confidence: Option<f64>,
    /// When it was written.
    #[serde(default)]
    pub created_at: Option<Timestamp>,
    /// When it expires.
    #[serde(default)]
    pub expires_at: Option<Timestamp>,
}

/// What an import did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryImportResult {
    /// Memories that were added.
    pub added: u64,
    /// Memories that existed already: same place, same text.
    pub known: u64,
}

/// What the erasure of a user removed or would remove.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Erasure {
    /// Stable platform id of the user.
    pub person: String,
    /// Number of memories.
    pub memories: u64,
    /// Number of summaries made from their messages.
    pub summaries: u64,
    /// Number of their turns, each with its steps, calls, approvals and deliveries.
    pub continuations: u64,
    /// Number of their turns that have not ended. Nothing is removed until they end.
    pub open: u64,
    /// Number of artifacts.
    pub artifacts: u64,
    /// Number of datasets that came with their messages.
    #[serde(default)]
    pub datasets: u64,
    /// Number of cached responses.
    pub cached: u64,
    /// Number of rows that still contain their id afterwards: 0, or the erasure failed.
    pub left: u64,
}

/// Memories to review: proposals, duplicates, contradictions and unused ones.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryReview {
    /// Memories that wait for a person.
    pub proposed: Vec<Memory>,
    /// Groups of memories that say the same.
    pub duplicates: Vec<Vec<Memory>>,
    /// Groups of memories that seem to contradict each other.
    pub contradictions: Vec<Vec<Memory>>,
    /// Memories older than a week that were never used.
    pub never_used: Vec<Memory>,
}

/// Counts and sizes of the memory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryStats {
    /// Counts by scope, state and channel.
    pub groups: Vec<MemoryGroup>,
    /// Number of sessions with a summary.
    pub summaries: u64,
    /// Number of turns that summaries replace.
    pub covered: u64,
    /// Stored compactions that succeeded.
    pub compactions: u64,
    /// Stored compactions that failed.
    pub failed_compactions: u64,
    /// Number of embeddings.
    pub vectors: u64,
    /// `<provider>/<model>` of the embeddings, with `@<dimensions>` when the configuration sets
    /// them; none = off.
    pub embeddings: Option<String>,
    /// Number of active memories without an embedding of that model; 0 when embeddings are off.
    #[serde(default)]
    pub unembedded: u64,
    /// Number of embedding calls that failed since the start of the daemon.
    #[serde(default)]
    pub embedding_failures: u64,
    /// Why the last embedding call failed; none = it succeeded.
    #[serde(default)]
    pub embedding_error: Option<String>,
    /// Number of memory searches by agents since the start of the daemon.
    pub recalls: u64,
}

/// Counts of one scope, channel and state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryGroup {
    /// Memory scope.
    pub scope: MemoryScope,
    /// Channel name; none = global.
    pub channel: Option<String>,
    /// State of the memories.
    pub state: MemoryState,
    /// Number of memories.
    pub count: u64,
    /// Number of pinned ones.
    pub pinned: u64,
    /// Size of their texts in bytes.
    pub bytes: u64,
}
