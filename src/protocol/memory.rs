//! What is remembered: facts and pins, the rolling summary of a session, and its compactions.
//!
//! Texts are outside text, whoever wrote them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::protocol::enums::{
    CompactionState, MemoryAuthor, MemoryKind, MemoryScope, MemoryState, SearchMethod,
};
use crate::protocol::ids::{CompactionId, ContinuationId, HygieneRunId, MemoryId, SessionId};

/// Most bytes of one remembered text.
pub const MAX_TEXT: usize = 4 * 1024;

/// Most items of one import.
pub const MAX_IMPORT: usize = 10_000;

/// One remembered thing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Memory {
    /// Id.
    pub id: MemoryId,
    /// Where it is recalled.
    pub scope: MemoryScope,
    /// Its session, where it is of one.
    pub session_id: Option<SessionId>,
    /// Its channel; none where it is recalled everywhere.
    pub channel: Option<String>,
    /// What kind of thing.
    pub kind: MemoryKind,
    /// What it says: outside text.
    pub text: String,
    /// Who wrote it.
    pub author: MemoryAuthor,
    /// Their label: platform id, operator's name or `<provider>/<model>`.
    pub author_id: String,
    /// Stable platform id of the person whose message it came from.
    pub person_id: Option<String>,
    /// The turn it came from.
    pub source: Option<ContinuationId>,
    /// Platform id of the message it came from.
    pub message_ref: Option<String>,
    /// 0 to 1; what a person wrote is 1.
    pub confidence: f64,
    /// Which untrusted content was in context when it was written.
    pub taint: Vec<String>,
    /// Goes into every context of its scope and is never archived.
    pub pinned: bool,
    /// Where it stands.
    pub state: MemoryState,
    /// The run of hygiene that archived it.
    pub archived_by: Option<HygieneRunId>,
    /// The one that replaced it.
    pub superseded_by: Option<MemoryId>,
    /// How often it went into a context.
    pub uses: u64,
    /// When it was written.
    pub created_at: Timestamp,
    /// Last change of its text or state.
    pub updated_at: Timestamp,
    /// When it went into a context last.
    pub last_used_at: Option<Timestamp>,
    /// When it ends by itself.
    pub expires_at: Option<Timestamp>,
}

/// Where something is remembered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "scope", rename_all = "snake_case")]
pub enum MemoryTarget {
    /// In a session.
    Session {
        /// Which.
        session_id: SessionId,
    },
    /// In a channel.
    Channel {
        /// Which.
        channel: String,
    },
    /// Everywhere.
    Global,
}

/// The rolling summary of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// Its session.
    pub session_id: SessionId,
    /// Grows with each compaction.
    pub version: u64,
    /// What it says: outside text.
    pub text: String,
    /// Turns it stands for.
    pub turns: u64,
    /// `<provider>/<model>` that wrote it.
    pub model: String,
    /// Which untrusted content it was made from.
    pub taint: Vec<String>,
    /// When it was written.
    pub at: Timestamp,
}

/// What a session remembers, in numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionMemory {
    /// Version of its summary; 0 = it has none.
    pub summary_version: u64,
    /// Bytes of its summary.
    pub summary_bytes: u64,
    /// Turns that the summary stands for.
    pub covered_turns: u64,
    /// Facts of this session that are recalled.
    pub facts: u64,
    /// Facts of this session that wait for a person.
    pub proposed: u64,
    /// Compactions that ended well, of those that are kept.
    pub compactions: u64,
    /// Compactions that failed, of those that are kept.
    pub failed_compactions: u64,
}

/// One compaction of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Compaction {
    /// Id.
    pub id: CompactionId,
    /// Its session.
    pub session_id: SessionId,
    /// Where it stands.
    pub state: CompactionState,
    /// `<provider>/<model>` that is asked.
    pub model: String,
    /// Turns that are put away.
    pub turns: u64,
    /// Facts that were found.
    pub facts: u64,
    /// Estimated tokens of the next prompt before.
    pub tokens_before: u64,
    /// The same after it.
    pub tokens_after: Option<u64>,
    /// Why nothing changed.
    pub error: Option<String>,
    /// When it began.
    pub started_at: Timestamp,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
}

/// Something that a search found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryHit {
    /// What.
    #[serde(flatten)]
    pub memory: Memory,
    /// By what.
    pub found_by: SearchMethod,
}

/// What a search found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryMatch {
    /// Best first.
    pub items: Vec<MemoryHit>,
    /// Always none: a search has one page.
    #[serde(default)]
    pub next_cursor: Option<String>,
    /// Why only words were looked for although embeddings are configured.
    #[serde(default)]
    pub words_only: Option<String>,
}

/// Which memories.
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
    /// Only of this person (stable platform id).
    #[serde(default)]
    pub person: Option<String>,
    /// Only pinned ones, or only others.
    #[serde(default)]
    pub pinned: Option<bool>,
}

/// One line of an export.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryImport {
    /// Where.
    pub place: MemoryTarget,
    /// What it says.
    pub text: String,
    /// What kind.
    #[serde(default)]
    pub kind: Option<MemoryKind>,
    /// Whether it is pinned.
    #[serde(default)]
    pub pinned: bool,
    /// Who wrote it; none = the importer.
    #[serde(default)]
    pub author: Option<MemoryAuthor>,
    /// Their label; none = the importer's.
    #[serde(default)]
    pub author_id: Option<String>,
    /// Stable platform id of the person whose message it came from.
    #[serde(default)]
    pub person_id: Option<String>,
    /// 0 to 1.
    #[serde(default)]
    pub confidence: Option<f64>,
    /// When it was written.
    #[serde(default)]
    pub created_at: Option<Timestamp>,
    /// When it ends by itself.
    #[serde(default)]
    pub expires_at: Option<Timestamp>,
}

/// What an import did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryImportResult {
    /// Written.
    pub added: u64,
    /// There already, in the same place, with the same text.
    pub known: u64,
}

/// What the erasure of a user removed, or would.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Erasure {
    /// Stable platform id.
    pub person: String,
    /// Remembered things.
    pub memories: u64,
    /// Summaries that were made from their messages.
    pub summaries: u64,
    /// Their turns, each with its steps, calls, approvals and deliveries.
    pub continuations: u64,
    /// Turns of theirs that are under way and must be ended first; nothing was removed where there are any.
    pub open: u64,
    /// Artifacts.
    pub artifacts: u64,
    /// Datasets that came with their messages.
    #[serde(default)]
    pub datasets: u64,
    /// Cached responses.
    pub cached: u64,
    /// Rows that still hold their id after it: 0, or the erasure failed.
    pub left: u64,
}

/// Equal ones, contradictions and never used ones.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryReview {
    /// Wait for a person.
    pub proposed: Vec<Memory>,
    /// Groups that say the same.
    pub duplicates: Vec<Vec<Memory>>,
    /// Groups that seem to say different things of the same.
    pub contradictions: Vec<Vec<Memory>>,
    /// Older than a week and never used.
    pub never_used: Vec<Memory>,
}

/// Counts and sizes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryStats {
    /// By scope, state and channel.
    pub groups: Vec<MemoryGroup>,
    /// Sessions with a summary.
    pub summaries: u64,
    /// Turns that summaries stand for.
    pub covered: u64,
    /// Compactions that ended well, of those that are kept.
    pub compactions: u64,
    /// Compactions that failed, of those that are kept.
    pub failed_compactions: u64,
    /// Embeddings.
    pub vectors: u64,
    /// `<provider>/<model>` of embeddings, with `@<dimensions>` where some are asked for; none = off.
    pub embeddings: Option<String>,
    /// Memories that are recalled and have no embedding of that model yet; 0 where it is off.
    #[serde(default)]
    pub unembedded: u64,
    /// Since this process started: calls for embeddings that failed.
    #[serde(default)]
    pub embedding_failures: u64,
    /// Why the last one failed, if none went well after it.
    #[serde(default)]
    pub embedding_error: Option<String>,
    /// Since this process started: searches of the agent.
    pub recalls: u64,
}

/// How many there are of one scope, channel and state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryGroup {
    /// Scope.
    pub scope: MemoryScope,
    /// Channel.
    pub channel: Option<String>,
    /// State.
    pub state: MemoryState,
    /// How many.
    pub count: u64,
    /// Those of them that are pinned.
    pub pinned: u64,
    /// Bytes of their texts.
    pub bytes: u64,
}
