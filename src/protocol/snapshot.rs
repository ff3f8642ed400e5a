//! What a console starts from, and the queries any surface can make.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::{Day, Timestamp};
use crate::protocol::approval::Approval;
use crate::protocol::artifact::{Artifact, ArtifactHash};
use crate::protocol::cache::{CacheEntry, CacheStats, CacheSummary};
use crate::protocol::channel::Channel;
use crate::protocol::command::Actor;
use crate::protocol::costs::Costs;
use crate::protocol::doctor::{AuditAnchor, AuditReport, AuditRow, Doctor};
use crate::protocol::duty::Duty;
use crate::protocol::hook::Hook;
use crate::protocol::hygiene::{HygieneAnswer, HygieneQuery};
use crate::protocol::ids::{ApprovalId, ContinuationId, OutboxId, SessionId, ToolCallId};
use crate::protocol::leftovers::Leftovers;
use crate::protocol::memory::{MemoryAnswer, MemoryQuery, MemoryStats};
use crate::protocol::models::ProviderModels;
use crate::protocol::pairing::Pairing;
use crate::protocol::policy::WhatIf;
use crate::protocol::routine::{RoutineAnswer, RoutineQuery};
use crate::protocol::rule::{RuleAnswer, RuleQuery};
use crate::protocol::session::{
    Continuation, OutboxItem, Session, Step, TranscriptEntry, Usage, Why,
};
use crate::protocol::summary::ShiftSummary;
use crate::protocol::uncertain::Uncertain;
use crate::protocol::words::{
    ApprovalState, Autonomy, ContinuationState, CostsBy, OutboxState, PairingState, SessionState,
};

/// What a sweep removed, or would remove.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SweepReport {
    /// Whether it only looked.
    pub preview: bool,
    /// When it began.
    pub at: Timestamp,
    /// Milliseconds it took.
    pub duration_ms: u64,
    /// Events.
    pub events: u64,
    /// Ended turns, each with its steps, calls, approvals and deliveries.
    pub continuations: u64,
    /// Idempotency keys of messages that started no turn.
    pub keys: u64,
    /// Settled approvals that belong to no turn.
    pub approvals: u64,
    /// Settled deliveries that belong to no turn.
    pub deliveries: u64,
    /// Idle sessions that expired.
    pub sessions_expired: u64,
    /// Ended and expired sessions.
    pub sessions: u64,
    /// Artifacts that nobody refers to.
    pub artifacts: u64,
    /// Files of artifacts that were forgotten, or were never named.
    pub artifact_files: u64,
    /// Their bytes.
    pub artifact_bytes: u64,
    /// Rows of the audit.
    pub audit_rows: u64,
    /// Bytes by which the database file became shorter.
    pub freed_bytes: u64,
    /// Compactions that ended, except what the next one of their session goes by.
    #[serde(default)]
    pub compactions: u64,
}

/// The engine as a whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EngineStatus {
    /// Product version.
    pub version: String,
    /// Name of this instance (host name, or `demo`).
    pub instance: String,
    /// Boot counter.
    pub epoch: u64,
    /// Since when an emergency stop holds everything; none = not held.
    pub held_since: Option<Timestamp>,
    /// Who pressed it, and why.
    pub held_reason: Option<String>,
    /// Whether the database was restored and waits for release.
    pub quarantine: bool,
    /// `<provider>/<model>` of the default model.
    pub model: String,
    /// Whether the default model is the built-in scripted one, which is no LLM.
    pub scripted: bool,
    /// Whether this is `--demo`.
    pub demo: bool,
    /// How programs are confined: `bubblewrap` or `none (why)`.
    pub sandbox: String,
    /// Usage since local midnight.
    pub usage_today: Usage,
    /// Money allowed per day, when limited.
    pub budget_today_usd: Option<f64>,
    /// Seconds for which an approved call of up to medium risk is held back before it starts; 0 = it is not.
    #[serde(default)]
    pub undo_seconds: u32,
    /// What stands in the way of normal work (disk full, store errors, a wrong clock); empty = nothing.
    pub problems: Vec<String>,
    /// Whether the database can be written. While it cannot, nothing is acknowledged, started or sent.
    #[serde(default = "yes")]
    pub writable: bool,
    /// The process is about to end and lets running work end first; none = it is not.
    #[serde(default)]
    pub draining: Option<Draining>,
    /// When this process started.
    pub started_at: Timestamp,
}

fn yes() -> bool {
    true
}

/// What is waited for before the process ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Draining {
    /// Since when nothing new is begun.
    pub since: Timestamp,
    /// When what still runs must let go.
    pub deadline: Timestamp,
    /// Turns that still run.
    pub turns: u32,
    /// Parts of messages that are still to be sent.
    pub deliveries: u32,
}

/// An open model stream: what has been said so far.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OpenStream {
    /// Its continuation.
    pub continuation_id: ContinuationId,
    /// Its session.
    pub session_id: SessionId,
    /// The step being written.
    pub step: u32,
    /// Text so far: outside text.
    pub text: String,
    /// Length of [`OpenStream::text`] in bytes: where the next delta starts.
    pub offset: u64,
}

/// One read transaction's view: non-terminal rows and the newest of each list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Snapshot {
    /// Every event up to this number is contained; follow with `after=seq`.
    pub seq: u64,
    /// When it was taken.
    pub at: Timestamp,
    /// Active sessions, newest change first (at most 200 idle ones).
    pub sessions: Vec<Session>,
    /// Open continuations and the newest ended ones (at most 200).
    pub continuations: Vec<Continuation>,
    /// Pending approvals, and the newest decided ones (at most 200).
    pub approvals: Vec<Approval>,
    /// All channels.
    pub channels: Vec<Channel>,
    /// Deliveries that are failed or unknown, and those under way (at most 200).
    pub deliveries: Vec<OutboxItem>,
    /// Open model streams.
    pub streams: Vec<OpenStream>,
    /// The response cache.
    #[serde(default)]
    pub cache: CacheSummary,
    /// What is remembered.
    #[serde(default)]
    pub memory: MemoryStats,
    /// Who is on call, and who can be named.
    #[serde(default)]
    pub duty: Duty,
    /// What runs left and nobody has dismissed (at most 200).
    #[serde(default)]
    pub leftovers: Vec<Leftovers>,
    /// The engine.
    pub engine: EngineStatus,
}

/// A question that changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "query", rename_all = "snake_case")]
pub enum Query {
    /// What a console starts from.
    Snapshot,
    /// The engine as a whole.
    Engine,
    /// Sessions, newest change first.
    Sessions {
        /// Only this state.
        #[serde(default)]
        state: Option<SessionState>,
        /// Only this channel.
        #[serde(default)]
        channel: Option<String>,
        /// Page.
        #[serde(flatten)]
        page: PageRequest,
    },
    /// One session.
    Session {
        /// Which.
        id: SessionId,
    },
    /// A window of a session's transcript: the newest entries before a position.
    Transcript {
        /// Which session.
        session_id: SessionId,
        /// Entries before this position; none = the newest.
        #[serde(default)]
        before: Option<u64>,
        /// At most this many (1–500, default 100).
        #[serde(default)]
        limit: Option<u32>,
    },
    /// Continuations, newest change first.
    Continuations {
        /// Only this state.
        #[serde(default)]
        state: Option<ContinuationState>,
        /// Only this session.
        #[serde(default)]
        session_id: Option<SessionId>,
        /// Page.
        #[serde(flatten)]
        page: PageRequest,
    },
    /// One continuation.
    Continuation {
        /// Which.
        id: ContinuationId,
    },
    /// A continuation's steps as stored.
    Steps {
        /// Which.
        continuation_id: ContinuationId,
    },
    /// Approvals, oldest first while pending, else newest first.
    Approvals {
        /// Only this state.
        #[serde(default)]
        state: Option<ApprovalState>,
        /// Page.
        #[serde(flatten)]
        page: PageRequest,
    },
    /// One approval.
    Approval {
        /// Which.
        id: ApprovalId,
    },
    /// All channels.
    Channels,
    /// One channel.
    Channel {
        /// Which.
        name: String,
    },
    /// What would have run without asking under another level.
    WhatIf {
        /// Which channel.
        channel: String,
        /// Which level.
        autonomy: Autonomy,
        /// How many past calls (1–200, default 20).
        #[serde(default)]
        limit: Option<u32>,
    },
    /// Deliveries, newest first.
    Outbox {
        /// Only this state.
        #[serde(default)]
        state: Option<OutboxState>,
        /// Page.
        #[serde(flatten)]
        page: PageRequest,
    },
    /// One delivery.
    Delivery {
        /// Which.
        id: OutboxId,
    },
    /// Why a call ran, asked or was refused.
    Why {
        /// Which.
        tool_call_id: ToolCallId,
    },
    /// What waits, and what nobody knows, before a release.
    Uncertain,
    /// Content that is kept in a file.
    Artifact {
        /// Which.
        hash: ArtifactHash,
    },
    /// How the installation is.
    Doctor {
        /// Whether every invariant is verified too, which reads the whole database.
        #[serde(default)]
        check: bool,
    },
    /// Rows of the audit, newest first.
    Audit {
        /// Which.
        #[serde(flatten)]
        filter: AuditFilter,
        /// Page.
        #[serde(flatten)]
        page: PageRequest,
    },
    /// Walks the whole audit.
    AuditVerify {
        /// A place of the chain that was noted elsewhere.
        #[serde(default)]
        anchor: Option<AuditAnchor>,
    },
    /// The configured providers and models.
    Models,
    /// What the response cache did.
    Cache,
    /// Kept answers, newest first.
    CacheEntries {
        /// Only this channel.
        #[serde(default)]
        channel: Option<String>,
        /// Page.
        #[serde(flatten)]
        page: PageRequest,
    },
    /// One kept answer.
    CacheEntry {
        /// Its id, or a longer beginning of its key.
        id: String,
    },
    /// What was spent.
    Costs {
        /// What to sum by.
        by: CostsBy,
        /// First local day; none = 30 days up to the last.
        #[serde(default)]
        since: Option<Day>,
        /// Last local day; none = today.
        #[serde(default)]
        until: Option<Day>,
    },
    /// About memory.
    Memory(MemoryQuery),
    /// About hygiene.
    Hygiene(HygieneQuery),
    /// Every hook at every point, in the order they are called in.
    Hooks,
    /// About routines.
    Routines(RoutineQuery),
    /// About rules.
    Rules(RuleQuery),
    /// What somebody who takes over a shift must know.
    Summary {
        /// Not before this time; none = eight hours ago.
        #[serde(default)]
        since: Option<Timestamp>,
    },
    /// A window of a session's transcript: the oldest entries from a position on.
    TranscriptFrom {
        /// Which session.
        session_id: SessionId,
        /// Entries at this position and after it; 0 = from the beginning.
        from: u64,
        /// At most this many (1–500, default 100).
        #[serde(default)]
        limit: Option<u32>,
    },
    /// Who asks to be let in, and who was.
    Pairings {
        /// Only this state.
        #[serde(default)]
        state: Option<PairingState>,
    },
    /// Who is on call, and who can be named.
    Duty {
        /// Who asks. A remote client's is ignored: the daemon takes it from the credential.
        #[serde(default)]
        actor: Option<Actor>,
    },
    /// What runs left in places that make programs run, the newest first.
    Leftovers {
        /// Also what a person has dismissed.
        #[serde(default)]
        all: bool,
    },
}

/// Which rows of the audit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditFilter {
    /// Not before this time.
    #[serde(default)]
    pub since: Option<Timestamp>,
    /// Before this time.
    #[serde(default)]
    pub until: Option<Timestamp>,
    /// Only this channel.
    #[serde(default)]
    pub channel: Option<String>,
    /// Only this action.
    #[serde(default)]
    pub action: Option<String>,
    /// Only this actor, by label or stable id.
    #[serde(default)]
    pub actor: Option<String>,
    /// Oldest first instead of newest first.
    #[serde(default)]
    pub oldest_first: bool,
}

/// A page of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PageRequest {
    /// At most this many (1–500, default 100).
    #[serde(default)]
    pub limit: Option<u32>,
    /// `next_cursor` of the page before.
    #[serde(default)]
    pub cursor: Option<String>,
}

/// A page of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "{T}Page")]
pub struct Page<T> {
    /// The items.
    pub items: Vec<T>,
    /// Pass as `cursor` for the next page; none = this was the last.
    pub next_cursor: Option<String>,
}

/// The answer to a [`Query`], of the variant of the same name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "answer", content = "value", rename_all = "snake_case")]
pub enum Answer {
    /// To [`Query::Snapshot`].
    Snapshot(Box<Snapshot>),
    /// To [`Query::Engine`].
    Engine(EngineStatus),
    /// To [`Query::Sessions`].
    Sessions(Page<Session>),
    /// To [`Query::Session`].
    Session(Box<Session>),
    /// To [`Query::Transcript`] and [`Query::TranscriptFrom`]; oldest first. `next_cursor` is the next `before` or
    /// `from`.
    Transcript(Page<TranscriptEntry>),
    /// To [`Query::Continuations`].
    Continuations(Page<Continuation>),
    /// To [`Query::Continuation`].
    Continuation(Box<Continuation>),
    /// To [`Query::Steps`].
    Steps(Page<Step>),
    /// To [`Query::Approvals`].
    Approvals(Page<Approval>),
    /// To [`Query::Approval`].
    Approval(Box<Approval>),
    /// To [`Query::Channels`].
    Channels(Page<Channel>),
    /// To [`Query::Channel`].
    Channel(Box<Channel>),
    /// To [`Query::WhatIf`].
    WhatIf(WhatIf),
    /// To [`Query::Outbox`].
    Outbox(Page<OutboxItem>),
    /// To [`Query::Delivery`].
    Delivery(Box<OutboxItem>),
    /// To [`Query::Why`].
    Why(Box<Why>),
    /// To [`Query::Uncertain`].
    Uncertain(Box<Uncertain>),
    /// To [`Query::Artifact`].
    Artifact(Box<Artifact>),
    /// To [`Query::Doctor`].
    Doctor(Box<Doctor>),
    /// To [`Query::Audit`].
    Audit(Page<AuditRow>),
    /// To [`Query::AuditVerify`].
    AuditVerify(Box<AuditReport>),
    /// To [`Query::Models`].
    Models(Page<ProviderModels>),
    /// To [`Query::Cache`].
    Cache(Box<CacheStats>),
    /// To [`Query::CacheEntries`].
    CacheEntries(Page<CacheEntry>),
    /// To [`Query::CacheEntry`].
    CacheEntry(Box<CacheEntry>),
    /// To [`Query::Costs`].
    Costs(Box<Costs>),
    /// To [`Query::Memory`].
    Memory(MemoryAnswer),
    /// To [`Query::Hygiene`].
    Hygiene(HygieneAnswer),
    /// To [`Query::Hooks`].
    Hooks(Page<Hook>),
    /// To [`Query::Routines`].
    Routines(RoutineAnswer),
    /// To [`Query::Rules`].
    Rules(RuleAnswer),
    /// To [`Query::Summary`].
    Summary(Box<ShiftSummary>),
    /// To [`Query::Pairings`].
    Pairings(Page<Pairing>),
    /// To [`Query::Duty`].
    Duty(Box<Duty>),
    /// To [`Query::Leftovers`].
    Leftovers(Page<Leftovers>),
}
