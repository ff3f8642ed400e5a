//! The event side of the one seam: what happened.
//!
//! Durable events carry a `seq` and are written in the same transaction as the change they report.
//! Ephemeral ones (deltas, tool output, an opening model call) carry none and may be lost; the snapshot
//! holds what they added up to. Folding durable events never needs an ephemeral one.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::protocol::approval::Approval;
use crate::protocol::channel::Channel;
use crate::protocol::enums::{
    Access, CacheMissReason, ContinuationState, Effect, HookPoint, OutboxClass, OutboxState,
    ReportOutcome, Risk, ToolCallState,
};
use crate::protocol::hook::HookVerdict;
use crate::protocol::hygiene::HygieneRun;
use crate::protocol::ids::{ApprovalId, ContinuationId, OutboxId, SessionId, ToolCallId};
use crate::protocol::leftovers::Leftovers;
use crate::protocol::memory::Compaction;
use crate::protocol::on_call::OnCall;
use crate::protocol::policy::{Policy, Verdict};
use crate::protocol::routine::Routine;
use crate::protocol::rule::Rule;
use crate::protocol::session::{CachedAnswer, CachedResult, ErrorBody, Session, Usage};
use crate::protocol::snapshot::EngineStatus;

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// Position in the durable log; none = ephemeral.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// When.
    pub at: Timestamp,
    /// Session concerned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// Continuation concerned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continuation_id: Option<ContinuationId>,
    /// What.
    #[serde(flatten)]
    pub body: EventBody,
}

/// What happened. The serialised `kind` words are fixed (API.md).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind")]
pub enum EventBody {
    /// A session was opened.
    #[serde(rename = "session.started")]
    SessionStarted {
        /// As it is.
        session: Box<Session>,
    },
    /// A session's title, model or pause changed.
    #[serde(rename = "session.updated")]
    SessionUpdated {
        /// As it is.
        session: Box<Session>,
    },
    /// A session ended.
    #[serde(rename = "session.ended")]
    SessionEnded {
        /// Why.
        reason: String,
    },
    /// A user message was accepted; its continuation is pending.
    #[serde(rename = "message.received")]
    MessageReceived {
        /// Channel name.
        channel: String,
        /// Conversation key.
        conversation: String,
        /// Who: outside text.
        sender: String,
        /// Stable id of who: `telegram:123456`. Events of older versions have none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sender_id: Option<String>,
        /// First 200 characters: outside text.
        preview: String,
    },
    /// The continuation waits behind others of its session or the engine's limit.
    #[serde(rename = "continuation.queued")]
    ContinuationQueued {
        /// How many are before it in its session.
        ahead: u32,
    },
    /// The continuation waits for files of its message; it starts when it waits for none.
    #[serde(rename = "continuation.waiting_for_files")]
    ContinuationWaitingForFiles {
        /// How many it still waits for.
        files: u32,
    },
    /// A worker took it up.
    #[serde(rename = "continuation.started")]
    ContinuationStarted {
        /// How often that has happened.
        attempt: u32,
    },
    /// Ephemeral: its model stream opened.
    #[serde(rename = "continuation.streaming")]
    ContinuationStreaming {
        /// The step being written.
        step: u32,
    },
    /// It waits for a person.
    #[serde(rename = "continuation.awaiting_approval")]
    ContinuationAwaitingApproval {
        /// How many gates wait.
        pending: u32,
    },
    /// Its process died or was stopped while it ran.
    #[serde(rename = "continuation.interrupted")]
    ContinuationInterrupted {
        /// Why.
        reason: String,
    },
    /// It may go on: resumed by a person or policy, or its gates are decided.
    #[serde(rename = "continuation.resumed")]
    ContinuationResumed {
        /// By whom.
        by: String,
    },
    /// It ended with an answer.
    #[serde(rename = "continuation.completed")]
    ContinuationCompleted {
        /// First 200 characters of the answer: outside text.
        preview: String,
        /// Sum over its model calls.
        usage: Usage,
    },
    /// It ended with an error.
    #[serde(rename = "continuation.failed")]
    ContinuationFailed {
        /// What.
        error: ErrorBody,
    },
    /// A person ended it.
    #[serde(rename = "continuation.cancelled")]
    ContinuationCancelled {
        /// Who.
        by: String,
        /// Why.
        reason: Option<String>,
    },
    /// A gate was not answered in time.
    #[serde(rename = "continuation.expired")]
    ContinuationExpired {
        /// Which gate.
        reason: String,
    },
    /// Ephemeral: a model call began, or waits to be tried again.
    #[serde(rename = "model.started")]
    ModelStarted {
        /// `<provider>/<model>`.
        model: String,
        /// Number of the attempt for this step, from 1.
        attempt: u32,
        /// It is tried again at this time; none = it is asked now.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        not_before: Option<Timestamp>,
    },
    /// A model call ended.
    #[serde(rename = "model.finished")]
    ModelFinished {
        /// `<provider>/<model>`.
        model: String,
        /// The step it wrote.
        step: u32,
        /// Tokens and money.
        usage: Usage,
        /// Milliseconds.
        latency_ms: u64,
        /// What went wrong, when it did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// Why the answer ended: `end_turn`, `tool_use`, `max_tokens`, `refusal` or a word of the provider; none where
        /// there is no answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stop: Option<String>,
        /// The model that answered, as the provider names it: a dated name for an alias, or another model. None where
        /// the provider named none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answered_by: Option<String>,
        /// What an operator should know about how the answer came: another model stood in, the context was compacted.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        notes: Vec<String>,
    },
    /// Ephemeral: text arrived.
    #[serde(rename = "message.delta")]
    MessageDelta {
        /// The step being written.
        step: u32,
        /// Byte offset of this piece within the step's text.
        offset: u64,
        /// The piece: outside text.
        text: String,
    },
    /// The model proposed a call and the policy spoke.
    #[serde(rename = "tool.proposed")]
    ToolProposed {
        /// Which.
        call_id: ToolCallId,
        /// Tool name.
        name: String,
        /// One-line preview of the arguments, at most 200 characters: outside text.
        preview: String,
        /// What it touches.
        access: Access,
        /// Its recovery class.
        effect: Effect,
        /// Its risk.
        risk: Risk,
        /// Where it stands.
        state: ToolCallState,
        /// What the policy said.
        verdict: Verdict,
    },
    /// A call started; its effect may have happened from here on.
    #[serde(rename = "tool.started")]
    ToolStarted {
        /// Which.
        call_id: ToolCallId,
        /// Tool name.
        name: String,
        /// Number of the start, from 1.
        attempt: u32,
    },
    /// Ephemeral: output of a running call.
    #[serde(rename = "tool.output")]
    ToolOutput {
        /// Which.
        call_id: ToolCallId,
        /// The piece: outside text.
        text: String,
    },
    /// Ephemeral: output of a command that a person runs in the shell of a session.
    #[serde(rename = "shell.output")]
    ShellOutput {
        /// The piece: outside text.
        text: String,
    },
    /// A call is settled (or its outcome is unknown).
    #[serde(rename = "tool.finished")]
    ToolFinished {
        /// Which.
        call_id: ToolCallId,
        /// Tool name.
        name: String,
        /// Where it ended.
        state: ToolCallState,
        /// First 200 characters of the result: outside text.
        preview: String,
        /// Milliseconds it ran.
        duration_ms: Option<u64>,
        /// Set when the tool did not run: the result is one that was kept.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cached: Option<CachedResult>,
    },
    /// An external agent reported how a call of its own ended, or went on without a report.
    #[serde(rename = "call.reported")]
    CallReported {
        /// The call that it asked about; none = it never asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call_id: Option<ToolCallId>,
        /// Tool name.
        tool: String,
        /// How it ended.
        outcome: ReportOutcome,
        /// First 200 characters of what it gave: outside text.
        preview: String,
    },
    /// A person is asked. Sent again with a new revision after an edit or a return to pending.
    #[serde(rename = "approval.requested")]
    ApprovalRequested {
        /// As it is now.
        approval: Box<Approval>,
    },
    /// A person answered (or took the answer back, or the approval was used).
    #[serde(rename = "approval.decided")]
    ApprovalDecided {
        /// As it is now.
        approval: Box<Approval>,
    },
    /// Not answered in time.
    #[serde(rename = "approval.expired")]
    ApprovalExpired {
        /// As it is now.
        approval: Box<Approval>,
    },
    /// A reply waits to be sent.
    #[serde(rename = "reply.queued")]
    ReplyQueued {
        /// Number of parts.
        parts: u32,
        /// Channel name.
        channel: String,
    },
    /// A part was accepted by the platform.
    #[serde(rename = "reply.sent")]
    ReplySent {
        /// Which part.
        outbox_id: OutboxId,
        /// What for.
        class: OutboxClass,
        /// Channel name.
        channel: String,
        /// Part number from 1.
        part: u32,
    },
    /// A part was refused for good.
    #[serde(rename = "reply.failed")]
    ReplyFailed {
        /// Which part.
        outbox_id: OutboxId,
        /// Channel name.
        channel: String,
        /// Why, redacted.
        error: String,
        /// Where it stands.
        state: OutboxState,
    },
    /// Nobody knows whether a part arrived.
    #[serde(rename = "reply.unknown")]
    ReplyUnknown {
        /// Which part.
        outbox_id: OutboxId,
        /// Channel name.
        channel: String,
        /// What is known.
        detail: String,
    },
    /// A channel's health or pause changed.
    #[serde(rename = "channel.state")]
    ChannelState {
        /// As it is.
        channel: Box<Channel>,
    },
    /// A channel's policy changed.
    #[serde(rename = "policy.changed")]
    PolicyChanged {
        /// Channel name.
        channel: String,
        /// As it is.
        policy: Policy,
        /// By whom.
        by: String,
    },
    /// A budget is nearly used up, or used up; then an approval of kind `budget` follows.
    #[serde(rename = "budget.reached")]
    BudgetReached {
        /// Which: `tokens`, `cost`, `session_cost`, `day_tokens` …
        budget: String,
        /// How far.
        #[serde(default)]
        level: BudgetLevel,
        /// How much it allows: tokens, US dollars, milliseconds or a count.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<f64>,
        /// How much is used or reserved.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        used: Option<f64>,
    },
    /// A cached response was given; no model was asked.
    #[serde(rename = "cache.hit")]
    CacheHit {
        /// Channel name.
        channel: String,
        /// `<provider>/<model>` that had answered.
        model: String,
        /// Which answer.
        cached: CachedAnswer,
    },
    /// Ephemeral: the model is asked, and why no cached response was given.
    #[serde(rename = "cache.miss")]
    CacheMiss {
        /// Channel name.
        channel: String,
        /// Why.
        reason: CacheMissReason,
    },
    /// Ephemeral: the engine was held, released, or has a problem.
    #[serde(rename = "engine.state")]
    EngineState {
        /// As it is.
        engine: Box<EngineStatus>,
    },
    /// Ephemeral: a model call waits because its provider has as many calls under way as it may have.
    #[serde(rename = "model.waiting")]
    ModelWaiting {
        /// Provider name.
        provider: String,
        /// How many calls waited before it; whose turn it is next is not theirs alone (`model::limits`).
        ahead: u32,
    },
    /// Something remembered was written, changed, deleted or compacted.
    #[serde(rename = "memory.changed")]
    MemoryChanged {
        /// What happened: `added`, `edited`, `pinned`, `accepted`, `superseded`, `deleted`, `imported`, `compacted`,
        /// `erasing` (a user, from now on), `erased` (a user), `compaction_failed`, `embedded` (their meaning can be searched for).
        change: String,
        /// Channel; none = global, or several.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        channel: Option<String>,
        /// How many.
        count: u64,
        /// The compaction, where it was one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        compaction: Option<Box<Compaction>>,
        /// By whom.
        by: String,
    },
    /// A run of hygiene ended, or was taken back.
    #[serde(rename = "hygiene.finished")]
    HygieneFinished {
        /// As it is.
        run: Box<HygieneRun>,
    },
    /// A hook changed or cancelled something, or failed. Ephemeral: what follows from it is in other events.
    #[serde(rename = "hook.ran")]
    HookRan {
        /// Its name.
        hook: String,
        /// When it was called.
        point: HookPoint,
        /// What it said.
        verdict: HookVerdict,
        /// Whether that was only counted.
        dry_run: bool,
    },
    /// A routine was made, changed or removed, or ran.
    #[serde(rename = "routine.changed")]
    RoutineChanged {
        /// What happened: `added`, `changed`, `removed`, `ran`, `skipped`, `failed`.
        change: String,
        /// As it is, or was.
        routine: Box<Routine>,
    },
    /// Ephemeral: a tool server changed its state, what it offers, or what is trusted of it.
    #[serde(rename = "mcp.changed")]
    McpChanged {
        /// Its name in the configuration.
        server: String,
    },
    /// Ephemeral: a dataset came, stays longer, or was removed.
    #[serde(rename = "datasets.changed")]
    DatasetsChanged {
        /// Its channel; none = of several channels.
        channel: Option<String>,
    },
    /// A rule was made, changed or removed.
    #[serde(rename = "rule.changed")]
    RuleChanged {
        /// What happened: `added`, `changed`, `removed`.
        change: String,
        /// As it is, or was.
        rule: Box<Rule>,
    },
    /// A permission for a shape was taken back.
    #[serde(rename = "grant.removed")]
    GrantRemoved {
        /// The approval it was given with.
        approval_id: ApprovalId,
        /// Tool name.
        tool: String,
        /// Who.
        by: String,
    },
    /// A question waits for somebody in particular from now on, or for nobody any more.
    #[serde(rename = "approval.assigned", alias = "approval.handed_over")]
    ApprovalAssigned {
        /// As it is now.
        approval: Box<Approval>,
    },
    /// People were reminded of a question in chats.
    #[serde(rename = "approval.reminded")]
    ApprovalReminded {
        /// As it is now.
        approval: Box<Approval>,
    },
    /// The first of two people who must allow a call did.
    #[serde(rename = "approval.first_allowed")]
    ApprovalFirstAllowed {
        /// As it is now.
        approval: Box<Approval>,
    },
    /// A question escalates: its next step, a step that was taken, or what became of one.
    #[serde(rename = "approval.escalation")]
    ApprovalEscalation {
        /// As it is now.
        approval: Box<Approval>,
    },
    /// Somebody said who is on call.
    #[serde(rename = "oncall.changed")]
    OnCallChanged {
        /// Who; none = nobody.
        on_call: Option<Box<OnCall>>,
    },
    /// A run left something in places from which other programs run code, or a person has dismissed it.
    #[serde(rename = "leftovers.changed")]
    LeftoversChanged {
        /// As it is.
        leftovers: Box<Leftovers>,
    },
    /// A kind this version does not know.
    #[serde(other, rename = "unknown")]
    Unknown,
}

/// How far a budget is used up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BudgetLevel {
    /// Four fifths of it.
    Warning,
    /// It does not allow what was to be done next.
    #[default]
    Reached,
}

impl EventBody {
    /// The fixed kind word, as serialised.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::SessionStarted { .. } => "session.started",
            Self::SessionUpdated { .. } => "session.updated",
            Self::SessionEnded { .. } => "session.ended",
            Self::MessageReceived { .. } => "message.received",
            Self::CallReported { .. } => "call.reported",
            Self::ContinuationQueued { .. } => "continuation.queued",
            Self::ContinuationWaitingForFiles { .. } => "continuation.waiting_for_files",
            Self::ContinuationStarted { .. } => "continuation.started",
            Self::ContinuationStreaming { .. } => "continuation.streaming",
            Self::ContinuationAwaitingApproval { .. } => "continuation.awaiting_approval",
            Self::ContinuationInterrupted { .. } => "continuation.interrupted",
            Self::ContinuationResumed { .. } => "continuation.resumed",
            Self::ContinuationCompleted { .. } => "continuation.completed",
            Self::ContinuationFailed { .. } => "continuation.failed",
            Self::ContinuationCancelled { .. } => "continuation.cancelled",
            Self::ContinuationExpired { .. } => "continuation.expired",
            Self::ModelStarted { .. } => "model.started",
            Self::ModelWaiting { .. } => "model.waiting",
            Self::ModelFinished { .. } => "model.finished",
            Self::MessageDelta { .. } => "message.delta",
            Self::ToolProposed { .. } => "tool.proposed",
            Self::ToolStarted { .. } => "tool.started",
            Self::ToolOutput { .. } => "tool.output",
            Self::ShellOutput { .. } => "shell.output",
            Self::ToolFinished { .. } => "tool.finished",
            Self::ApprovalRequested { .. } => "approval.requested",
            Self::ApprovalDecided { .. } => "approval.decided",
            Self::ApprovalExpired { .. } => "approval.expired",
            Self::ReplyQueued { .. } => "reply.queued",
            Self::ReplySent { .. } => "reply.sent",
            Self::ReplyFailed { .. } => "reply.failed",
            Self::ReplyUnknown { .. } => "reply.unknown",
            Self::ChannelState { .. } => "channel.state",
            Self::PolicyChanged { .. } => "policy.changed",
            Self::BudgetReached { .. } => "budget.reached",
            Self::CacheHit { .. } => "cache.hit",
            Self::CacheMiss { .. } => "cache.miss",
            Self::EngineState { .. } => "engine.state",
            Self::MemoryChanged { .. } => "memory.changed",
            Self::HygieneFinished { .. } => "hygiene.finished",
            Self::HookRan { .. } => "hook.ran",
            Self::McpChanged { .. } => "mcp.changed",
            Self::RoutineChanged { .. } => "routine.changed",
            Self::DatasetsChanged { .. } => "datasets.changed",
            Self::RuleChanged { .. } => "rule.changed",
            Self::GrantRemoved { .. } => "grant.removed",
            Self::ApprovalAssigned { .. } => "approval.assigned",
            Self::ApprovalReminded { .. } => "approval.reminded",
            Self::ApprovalFirstAllowed { .. } => "approval.first_allowed",
            Self::ApprovalEscalation { .. } => "approval.escalation",
            Self::OnCallChanged { .. } => "oncall.changed",
            Self::LeftoversChanged { .. } => "leftovers.changed",
            Self::Unknown => "unknown",
        }
    }

    /// The approval that this event is about, when it is about one.
    pub fn approval(&self) -> Option<&Approval> {
        if let Self::ApprovalRequested { approval }
        | Self::ApprovalDecided { approval }
        | Self::ApprovalExpired { approval }
        | Self::ApprovalAssigned { approval }
        | Self::ApprovalReminded { approval }
        | Self::ApprovalFirstAllowed { approval }
        | Self::ApprovalEscalation { approval } = self
        {
            return Some(approval);
        }
        None
    }

    /// The continuation state this event announces, when it announces one.
    pub fn continuation_state(&self) -> Option<ContinuationState> {
        match self {
            Self::MessageReceived { .. }
            | Self::ContinuationQueued { .. }
            | Self::ContinuationResumed { .. } => Some(ContinuationState::Pending),
            Self::ContinuationStarted { .. } => Some(ContinuationState::Running),
            Self::ContinuationStreaming { .. } => Some(ContinuationState::Streaming),
            Self::ModelFinished { .. } => Some(ContinuationState::Running),
            Self::ContinuationAwaitingApproval { .. } => Some(ContinuationState::AwaitingApproval),
            Self::ContinuationInterrupted { .. } => Some(ContinuationState::Interrupted),
            Self::ContinuationCompleted { .. } => Some(ContinuationState::Completed),
            Self::ContinuationFailed { .. } => Some(ContinuationState::Failed),
            Self::ContinuationCancelled { .. } => Some(ContinuationState::Cancelled),
            Self::ContinuationExpired { .. } => Some(ContinuationState::Expired),
            Self::SessionStarted { .. }
            | Self::SessionUpdated { .. }
            | Self::SessionEnded { .. }
            | Self::ModelStarted { .. }
            | Self::ContinuationWaitingForFiles { .. }
            | Self::ModelWaiting { .. }
            | Self::MessageDelta { .. }
            | Self::ToolProposed { .. }
            | Self::ToolStarted { .. }
            | Self::ToolOutput { .. }
            | Self::ShellOutput { .. }
            | Self::DatasetsChanged { .. }
            | Self::ToolFinished { .. }
            // It comes when it likes, and moves nothing.
            | Self::CallReported { .. }
            | Self::ApprovalRequested { .. }
            | Self::ApprovalDecided { .. }
            | Self::ApprovalExpired { .. }
            | Self::ReplyQueued { .. }
            | Self::ReplySent { .. }
            | Self::ReplyFailed { .. }
            | Self::ReplyUnknown { .. }
            | Self::ChannelState { .. }
            | Self::PolicyChanged { .. }
            | Self::BudgetReached { .. }
            | Self::CacheHit { .. }
            | Self::CacheMiss { .. }
            | Self::EngineState { .. }
            | Self::MemoryChanged { .. }
            | Self::HygieneFinished { .. }
            | Self::HookRan { .. }
            | Self::McpChanged { .. }
            | Self::RoutineChanged { .. }
            | Self::RuleChanged { .. }
            | Self::GrantRemoved { .. }
            | Self::ApprovalAssigned { .. }
            | Self::ApprovalReminded { .. }
            | Self::ApprovalFirstAllowed { .. }
            | Self::ApprovalEscalation { .. }
            | Self::OnCallChanged { .. }
            | Self::LeftoversChanged { .. }
            | Self::Unknown => None,
        }
    }
}

/// Which events a subscriber wants.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EventFilter {
    /// Only events after this `seq`; none = only new ones.
    #[serde(default)]
    pub after: Option<u64>,
    /// Without `after`: begin with the kept events of this time, or with the newest one where none is so young.
    #[serde(default)]
    pub since: Option<Timestamp>,
    /// Only this session.
    #[serde(default)]
    pub session_id: Option<SessionId>,
    /// Only this continuation.
    #[serde(default)]
    pub continuation_id: Option<ContinuationId>,
    /// Only these kinds; empty = all.
    #[serde(default)]
    pub kinds: Vec<String>,
    /// Sessions whose deltas and tool output are wanted; empty = none.
    #[serde(default)]
    pub deltas: Vec<SessionId>,
}

/// One item of an event stream.
#[derive(Debug, Clone, PartialEq)]
pub enum StreamItem {
    /// Something happened.
    Event(Arc<Event>),
    /// The cursor is not kept any more: take a new snapshot.
    Reset,
}
