//! What a console starts from, and pages of lists.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::protocol::approval::Approval;
use crate::protocol::cache::CacheSummary;
use crate::protocol::channel::Channel;
use crate::protocol::ids::{ContinuationId, SessionId};
use crate::protocol::leftovers::Leftovers;
use crate::protocol::memory::MemoryStats;
use crate::protocol::on_call::OnCallStatus;
use crate::protocol::session::{Continuation, OutboxItem, Session, Usage};

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
    /// Files of artifacts that the engine removed or never named.
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
    /// Changes of files by tools that cannot be undone any more.
    #[serde(default)]
    pub file_changes: u64,
    /// Datasets whose time is over.
    #[serde(default)]
    pub datasets: u64,
    /// Files of datasets that the engine removed or never named.
    #[serde(default)]
    pub dataset_files: u64,
    /// Their bytes.
    #[serde(default)]
    pub dataset_bytes: u64,
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
    /// Names of the tools that there are.
    #[serde(default)]
    pub tools: Vec<String>,
    /// Usage since local midnight.
    pub usage_today: Usage,
    /// Money allowed per day, when limited.
    pub budget_today_usd: Option<f64>,
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
    pub on_call_status: OnCallStatus,
    /// What runs left and nobody has dismissed (at most 200).
    #[serde(default)]
    pub leftovers: Vec<Leftovers>,
    /// The engine.
    pub engine: EngineStatus,
}

/// Which rows of the audit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditFilter {
    /// Not before this time, RFC 3339.
    #[serde(default)]
    pub since: Option<Timestamp>,
    /// Before this time, RFC 3339.
    #[serde(default)]
    pub until: Option<Timestamp>,
    /// Only this channel.
    #[serde(default)]
    pub channel: Option<String>,
    /// Only this action, for example `approval.decided`.
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
    #[schemars(range(min = 1, max = 500))]
    pub limit: Option<u32>,
    /// `next_cursor` of the page before.
    #[serde(default)]
    pub cursor: Option<String>,
}

impl PageRequest {
    /// The first page, with at most so many.
    pub const fn first(limit: Option<u32>) -> Self {
        Self {
            limit,
            cursor: None,
        }
    }
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

/// All there is, on one page.
impl<T> From<Vec<T>> for Page<T> {
    fn from(items: Vec<T>) -> Self {
        Self {
            items,
            next_cursor: None,
        }
    }
}
