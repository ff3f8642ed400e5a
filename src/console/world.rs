//! The engine's state as the console knows it: the last snapshot with every later event folded in.

use std::collections::BTreeMap;

use crate::clock::Timestamp;
use crate::console::opened::Opened;
use crate::protocol::approval::Approval;
use crate::protocol::cache::CacheSummary;
use crate::protocol::channel::Channel;
use crate::protocol::enums::{
    ApprovalState, ContinuationState, DecisionKind, SessionState, ToolCallState,
};
use crate::protocol::ids::{ApprovalId, ContinuationId, OutboxId, SessionId, ToolCallId};
use crate::protocol::leftovers::Leftovers;
use crate::protocol::on_call::OnCallStatus;
use crate::protocol::session::{Continuation, OutboxItem, Session};
use crate::protocol::snapshot::{EngineStatus, Snapshot};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stream {
    pub session_id: SessionId,
    /// The step being written.
    pub step: u32,
    /// Text so far: outside text.
    pub text: String,
    /// Bytes said so far; more than the text's length when a piece is missing.
    pub offset: u64,
    /// Whether the beginning or a piece was missed.
    pub gap: bool,
}

impl Stream {
    /// A stream of which nothing was said yet.
    pub const fn new(session_id: SessionId, step: u32) -> Self {
        Self {
            session_id,
            step,
            text: String::new(),
            offset: 0,
            gap: false,
        }
    }
}

/// The last bytes of a running tool's output that are kept.
pub const TOOL_OUTPUT_KEPT: usize = 16 * 1024;

/// Characters of a result that are kept, as many as an event tells.
const RESULT_PREVIEW: usize = 200;

/// What has come of a call that a person was asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallResult {
    /// Where it stands: it runs, or how it ended.
    pub state: ToolCallState,
    /// Milliseconds it ran; none = it runs, or nobody measured it.
    pub duration_ms: Option<u64>,
    /// How its result begins: outside text.
    pub preview: String,
}

impl CallResult {
    /// A call that runs.
    pub const RUNNING: Self = Self {
        state: ToolCallState::Started,
        duration_ms: None,
        preview: String::new(),
    };
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct World {
    /// Newest durable event contained.
    pub seq: u64,
    /// Sessions that are not ended.
    pub sessions: BTreeMap<SessionId, Session>,
    /// Open continuations and the newest ended ones.
    pub continuations: BTreeMap<ContinuationId, Continuation>,
    /// Pending approvals and the newest decided ones, shortened unless their card was opened.
    pub approvals: BTreeMap<ApprovalId, Approval>,
    /// Which approvals are whole.
    pub opened: Opened,
    /// Channels by name.
    pub channels: BTreeMap<String, Channel>,
    /// Deliveries that failed, are unknown, or under way.
    pub deliveries: BTreeMap<OutboxId, OutboxItem>,
    /// What runs left and nobody has dismissed.
    pub leftovers: BTreeMap<ToolCallId, Leftovers>,
    pub streams: BTreeMap<ContinuationId, Stream>,
    /// When a model that failed is asked again.
    pub retries: BTreeMap<ContinuationId, Timestamp>,
    /// Providers that turns wait for, because as many calls as may be are under way there.
    pub waiting_for: BTreeMap<ContinuationId, String>,
    /// Output of running tools: outside text.
    pub tool_output: BTreeMap<ToolCallId, String>,
    /// What has come of calls that a person was asked about.
    pub results: BTreeMap<ToolCallId, CallResult>,
    /// How each session's newest ended turn ended, when it ended badly.
    pub failed: BTreeMap<SessionId, ContinuationId>,
    /// The engine; none before the first snapshot.
    pub engine: Option<EngineStatus>,
    /// The response cache today.
    pub cache: CacheSummary,
    /// Who is on call, and who can be named.
    pub on_call_status: OnCallStatus,
}

impl World {
    /// The world of a snapshot. Output of running tools is not part of one.
    pub fn from_snapshot(snapshot: Snapshot) -> Self {
        let mut world = Self {
            seq: snapshot.seq,
            engine: Some(snapshot.engine),
            cache: snapshot.cache,
            on_call_status: snapshot.on_call_status,
            ..Self::default()
        };
        for session in snapshot.sessions {
            world.sessions.insert(session.id, session);
        }
        for mut continuation in snapshot.continuations {
            continuation.shorten();
            world.results.extend(results(&continuation));
            world.continuations.insert(continuation.id, continuation);
        }
        for mut approval in snapshot.approvals {
            approval.shorten();
            world.approvals.insert(approval.id, approval);
        }
        for channel in snapshot.channels {
            world.channels.insert(channel.name.clone(), channel);
        }
        for delivery in snapshot.deliveries {
            world.deliveries.insert(delivery.id, delivery);
        }
        for leftovers in snapshot.leftovers {
            world.leftovers.insert(leftovers.tool_call_id, leftovers);
        }
        for stream in snapshot.streams {
            world.streams.insert(
                stream.continuation_id,
                Stream {
                    session_id: stream.session_id,
                    step: stream.step,
                    gap: (stream.text.len() as u64) < stream.offset,
                    text: stream.text,
                    offset: stream.offset,
                },
            );
        }
        world.failed = newest_failed(&world.continuations);
        world
    }

    pub fn pending(&self) -> impl Iterator<Item = &Approval> {
        self.approvals
            .values()
            .filter(|a| a.state == ApprovalState::Pending)
    }

    /// How many calls were refused because too many approvals waited, on one channel or on all; dismissed ones not.
    pub fn refused_calls(&self, channel: Option<&str>) -> usize {
        self.sessions
            .values()
            .filter(|session| channel.is_none_or(|channel| session.channel == channel))
            .filter_map(|session| session.refused_calls.as_ref())
            .map(|refused| refused.count as usize)
            .sum()
    }

    /// What has come of the call that somebody allowed here; none = it has not started, or there is none.
    pub fn result(&self, approval: &Approval) -> Option<&CallResult> {
        let decision = approval.decision.as_ref()?;
        let has_result = decision.decision.allows() || decision.decision == DecisionKind::Answer;
        let id = approval.tool_call_id.filter(|_| has_result)?;
        self.results.get(&id)
    }

    /// Whether the call that somebody allowed here runs.
    pub fn is_running(&self, approval: &Approval) -> bool {
        let result = self.result(approval);
        result.is_some_and(|result| result.state == ToolCallState::Started)
    }

    /// Takes in how a call stands, if a person was asked about it.
    pub fn note_result(&mut self, id: ToolCallId, result: CallResult) {
        let mut asked = self.approvals.values();
        if asked.any(|approval| approval.tool_call_id == Some(id)) {
            self.results.insert(id, result);
        }
    }

    /// Active sessions, newest change first.
    pub fn sessions_by_change(&self) -> Vec<&Session> {
        let mut sessions: Vec<&Session> = self
            .sessions
            .values()
            .filter(|s| s.state == SessionState::Active)
            .collect();
        sessions.sort_unstable_by(|a, b| b.updated_at.cmp(&a.updated_at).then(a.id.cmp(&b.id)));
        sessions
    }

    /// Turns and parts that are not done, each in words: what ends or waits where the engine stops.
    pub fn open_work(&self) -> Vec<String> {
        let open = self
            .sessions
            .values()
            .filter_map(|one| one.open_continuation.as_ref());
        let count =
            |of: &[ContinuationState]| open.clone().filter(|turn| of.contains(&turn.state)).count();
        let running = count(&[ContinuationState::Running, ContinuationState::Streaming]);
        let queued: u32 = self.sessions.values().map(|one| one.queued).sum();
        let queued = count(&[ContinuationState::Pending]) + queued as usize;
        let unsent: u32 = self.channels.values().map(|one| one.backlog).sum();
        let waiting = self.pending().count();
        [
            (running, "turn runs", "turns run"),
            (queued, "turn is queued", "turns are queued"),
            (
                waiting,
                "question waits for a person",
                "questions wait for a person",
            ),
            (
                unsent as usize,
                "part of a message is unsent",
                "parts of messages are unsent",
            ),
        ]
        .into_iter()
        .filter(|(count, _, _)| *count > 0)
        .map(|(count, one, many)| format!("{count} {}", if count == 1 { one } else { many }))
        .collect()
    }

    /// The state word of a session.
    pub fn session_status(&self, session: &Session) -> SessionStatus {
        if session.taken_over.is_some() {
            return SessionStatus::TakenOver;
        }
        if session.pending_approvals > 0 {
            return SessionStatus::WaitingOnYou;
        }
        if let Some(open) = &session.open_continuation {
            return match open.state {
                ContinuationState::AwaitingApproval => SessionStatus::WaitingOnYou,
                ContinuationState::Interrupted => SessionStatus::Interrupted,
                ContinuationState::Pending if session.paused => SessionStatus::Paused,
                ContinuationState::Pending if open.waiting_files > 0 => {
                    SessionStatus::WaitingForFiles
                }
                ContinuationState::Pending => SessionStatus::Queued,
                ContinuationState::Running | ContinuationState::Streaming
                    if !open.tools_in_flight.is_empty() =>
                {
                    SessionStatus::WaitingOnTool
                }
                ContinuationState::Running | ContinuationState::Streaming => SessionStatus::Running,
                ContinuationState::Completed
                | ContinuationState::Failed
                | ContinuationState::Cancelled
                | ContinuationState::Expired => SessionStatus::Idle,
            };
        }
        if session.paused {
            SessionStatus::Paused
        } else if self.failed.contains_key(&session.id) {
            SessionStatus::Error
        } else {
            SessionStatus::Idle
        }
    }
}

/// What a session is called: its title, else its conversation.
pub fn session_name(session: &Session) -> &str {
    session.title.as_deref().unwrap_or(&session.conversation)
}

/// What a turn tells of the calls that a person was asked about.
fn results(turn: &Continuation) -> impl Iterator<Item = (ToolCallId, CallResult)> {
    let asked = turn.tool_calls.iter().filter(|call| {
        call.approval_id.is_some() && (call.started_at.is_some() || call.result.is_some())
    });
    asked.map(|call| {
        let text = call.result.as_deref().unwrap_or_default();
        let result = CallResult {
            state: call.state,
            duration_ms: call.duration_ms,
            preview: text.chars().take(RESULT_PREVIEW).collect(),
        };
        (call.id, result)
    })
}

/// The newest continuation of each session, where it failed.
fn newest_failed(
    continuations: &BTreeMap<ContinuationId, Continuation>,
) -> BTreeMap<SessionId, ContinuationId> {
    let mut newest: BTreeMap<SessionId, &Continuation> = BTreeMap::new();
    for continuation in continuations.values() {
        let slot = newest
            .entry(continuation.session_id)
            .or_insert(continuation);
        if (continuation.updated_at, continuation.id) > (slot.updated_at, slot.id) {
            *slot = continuation;
        }
    }
    newest
        .into_iter()
        .filter(|(_, c)| c.state == ContinuationState::Failed)
        .map(|(session, c)| (session, c.id))
        .collect()
}

/// What a session is doing, in the word Live shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionStatus {
    /// A model call runs.
    Running,
    /// A person is asked.
    WaitingOnYou,
    WaitingOnTool,
    /// Not started yet: files of its message are still to come.
    WaitingForFiles,
    /// Not started yet.
    Queued,
    /// Held by an operator.
    Paused,
    /// Its turn can be resumed.
    Interrupted,
    /// Nothing to do.
    Idle,
    /// Its last turn failed.
    Error,
    /// A person writes in place of the agent.
    TakenOver,
}

impl SessionStatus {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::WaitingOnYou => "waiting on you",
            Self::WaitingOnTool => "waiting on tool",
            Self::WaitingForFiles => "waiting for files",
            Self::Queued => "queued",
            Self::Paused => "paused",
            Self::Interrupted => "interrupted",
            Self::Idle => "idle",
            Self::Error => "error",
            Self::TakenOver => "taken over",
        }
    }
}
