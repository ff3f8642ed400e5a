//! The initial state of a console, and pages of lists.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::{Day, Timestamp};
use crate::protocol::approval::Approval;
use crate::protocol::cache::CacheSummary;
use crate::protocol::channel::Channel;
use crate::protocol::ids::{ContinuationId, SessionId};
use crate::protocol::leftovers::Leftovers;
use crate::protocol::memory::MemoryStats;
use crate::protocol::on_call::OnCallStatus;
use crate::protocol::session::{Continuation, OutboxItem, Session, Usage};

/// What a sweep removed or would remove.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SweepReport {
    /// Whether it only counted.
    pub preview: bool,
    /// When it began.
    pub at: Timestamp,
    /// Duration in milliseconds.
    pub duration_ms: u64,
    /// Number of events.
    pub events: u64,
    /// Number of ended turns, each with its steps, calls, approvals and deliveries.
    pub continuations: u64,
    /// Number of idempotency keys of messages that started no turn.
    pub keys: u64,
    /// Number of settled approvals that belong to no turn.
    pub approvals: u64,
    /// Number of settled deliveries that belong to no turn.
    pub deliveries: u64,
    /// Number of idle sessions that expired.
    pub sessions_expired: u64,
    /// Number of ended and expired sessions.
    pub sessions: u64,
    /// Number of unreferenced artifacts.
    pub artifacts: u64,
    /// Number of artifact files that no database row names.
    pub artifact_files: u64,
    /// Size of these files in bytes.
    pub artifact_bytes: u64,
    /// Number of audit rows.
    pub audit_rows: u64,
    /// Bytes by which the database file shrank.
    pub freed_bytes: u64,
    /// Number of ended compactions, except the newest useful one of each session.
    #[serde(default)]
    pub compactions: u64,
    /// Number of stored file changes that can no longer be undone.
    #[serde(default)]
    pub file_changes: u64,
    /// Number of expired datasets.
    #[serde(default)]
    pub datasets: u64,
    /// Number of dataset files that no database row names.
    #[serde(default)]
    pub dataset_files: u64,
    /// Size of these files in bytes.
    #[serde(default)]
    pub dataset_bytes: u64,
}

/// State of the engine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EngineStatus {
    /// Version of Leverframe.
    pub version: String,
    /// Name of this instance: the host name, or `demo`.
    pub instance: String,
    /// Boot counter.
    pub epoch: u64,
    /// When the emergency stop was pressed; none = it is not in force.
    pub held_since: Option<Timestamp>,
    /// Who pressed it, and why.
    pub held_reason: Option<String>,
    /// Whether the database was restored and waits for a release.
    pub quarantine: bool,
    /// `<provider>/<model>` of the default model.
    pub model: String,
    /// Whether the default model is the built-in scripted one, which is no LLM.
    pub scripted: bool,
    /// Whether this is the demo.
    pub demo: bool,
    /// Sandbox for programs: `bubblewrap` or `none (why)`.
    pub sandbox: String,
    /// Names of all tools.
    #[serde(default)]
    pub tools: Vec<String>,
    /// Local day of `usage_today` and `budget_today_usd`.
    #[serde(default)]
    pub today: Day,
    /// Tokens and cost since local midnight.
    pub usage_today: Usage,
    /// Today's budget in US dollars; none = no limit.
    pub budget_today_usd: Option<f64>,
    /// Problems such as a full disk, store errors or a wrong clock; empty = none.
    pub problems: Vec<String>,
    /// Whether the database accepts writes. While it does not, the engine acknowledges, starts and
    /// sends nothing.
    #[serde(default = "yes")]
    pub writable: bool,
    /// Set while the process shuts down and lets running work end; none = it is not shutting down.
    #[serde(default)]
    pub draining: Option<Draining>,
    /// When this process started.
    pub started_at: Timestamp,
}

fn yes() -> bool {
    true
}

/// Work that a shutdown waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Draining {
    /// When the shutdown began; nothing starts after it.
    pub since: Timestamp,
    /// When the shutdown stops running work.
    pub deadline: Timestamp,
    /// Turns that still run.
    pub turns: u32,
    /// Parts of messages that still have to be sent.
    pub deliveries: u32,
}

/// An open model stream with its text so far.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OpenStream {
    /// Continuation of the stream.
    pub continuation_id: ContinuationId,
    /// Session of the stream.
    pub session_id: SessionId,
    /// Number of the step in progress.
    pub step: u32,
    /// Text so far: untrusted text.
    pub text: String,
    /// Length of the text in bytes: the next delta starts here.
    pub offset: u64,
}

/// A consistent view: rows that have not ended, and the newest of each list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Snapshot {
    /// The snapshot contains all events up to this number; follow later ones with `after=seq`.
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
    /// Counts and sizes of the memory.
    #[serde(default)]
    pub memory: MemoryStats,
    /// Who is on call, and who can be.
    #[serde(default)]
    pub on_call_status: OnCallStatus,
    /// Files that runs left and nobody has dismissed (at most 200).
    #[serde(default)]
    pub leftovers: Vec<Leftovers>,
    /// State of the engine.
    pub engine: EngineStatus,
}

/// Filter for audit rows.
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
    /// Whether the oldest rows come first; default: the newest.
    #[serde(default)]
    pub oldest_first: bool,
}

/// Which page of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PageRequest {
    /// Most items on the page (1–500, default 100).
    #[serde(default)]
    #[schemars(range(min = 1, max = 500))]
    pub limit: Option<u32>,
    /// `next_cursor` of the previous page.
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
    /// Pass as `cursor` for the next page; none = this is the last page.
    pub next_cursor: Option<String>,
}

/// All items on one page.
impl<T> From<Vec<T>> for Page<T> {
    fn from(items: Vec<T>) -> Self {
        Self {
            items,
            next_cursor: None,
        }
    }
}
