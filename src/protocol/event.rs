//! Events: what happened in the engine.
//!
//! A durable event carries a `seq`; one transaction writes it with the change that it reports.
//! Ephemeral events (deltas, tool output, a starting model call) carry none and may be lost; the
//! snapshot contains their result. Folding durable events never needs an ephemeral one.

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

/// An event: one thing that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// Position in the durable log; none = the event is ephemeral.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// When it happened.
    pub at: Timestamp,
    /// Session that the event concerns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// Continuation (turn) that the event concerns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continuation_id: Option<ContinuationId>,
    /// What happened.
    #[serde(flatten)]
    pub body: EventBody,
}

/// What happened. The serialised `kind` words are fixed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind")]
pub enum EventBody {
    /// A session was opened.
    #[serde(rename = "session.started")]
    SessionStarted {
        /// The session after the event.
        session: Box<Session>,
    },
    /// The title, model or pause of a session changed.
    #[serde(rename = "session.updated")]
    SessionUpdated {
        /// The session after the event.
        session: Box<Session>,
    },
    /// A session ended.
    #[serde(rename = "session.ended")]
    SessionEnded {
        /// Why it ended.
        reason: String,
    },
    /// The engine accepted a user message; its continuation is pending.
    #[serde(rename = "message.received")]
    MessageReceived {
        /// Channel name.
        channel: String,
        /// Conversation key.
        conversation: String,
        /// Display name of the sender: untrusted text.
        sender: String,
        /// Stable id of the sender: `telegram:123456`. Events of older versions have none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sender_id: Option<String>,
        /// First 200 characters of the message: untrusted text.
        preview: String,
    },
    /// The continuation waits behind others of its session, or for the engine's limit.
    #[serde(rename = "continuation.queued")]
    ContinuationQueued {
        /// How many continuations of its session are before it.
        ahead: u32,
    },
    /// The continuation waits for the files of its message and starts when they are here.
    #[serde(rename = "continuation.waiting_for_files")]
    ContinuationWaitingForFiles {
        /// How many files are still missing.
        files: u32,
    },
    /// A worker started the continuation.
    #[serde(rename = "continuation.started")]
    ContinuationStarted {
        /// Number of the start, from 1.
        attempt: u32,
    },
    /// Ephemeral: its model stream opened.
    #[serde(rename = "continuation.streaming")]
    ContinuationStreaming {
        /// Number of the step in progress.
        step: u32,
    },
    /// The continuation waits for a person.
    #[serde(rename = "continuation.awaiting_approval")]
    ContinuationAwaitingApproval {
        /// How many approvals are pending.
        pending: u32,
    },
    /// The process died or stopped while the continuation ran.
    #[serde(rename = "continuation.interrupted")]
    ContinuationInterrupted {
        /// Why it was interrupted.
        reason: String,
    },
    /// The continuation goes on: a person or the policy resumed it, or its approvals are decided.
    #[serde(rename = "continuation.resumed")]
    ContinuationResumed {
        /// Who resumed it.
        by: String,
    },
    /// The continuation ended with an answer.
    #[serde(rename = "continuation.completed")]
    ContinuationCompleted {
        /// First 200 characters of the answer: untrusted text.
        preview: String,
        /// Tokens and cost of all its model calls.
        usage: Usage,
    },
    /// The continuation ended with an error.
    #[serde(rename = "continuation.failed")]
    ContinuationFailed {
        /// The error.
        error: ErrorBody,
    },
    /// A person ended the continuation.
    #[serde(rename = "continuation.cancelled")]
    ContinuationCancelled {
        /// Who ended it.
        by: String,
        /// Why it was ended.
        reason: Option<String>,
    },
    /// The continuation ended because nobody decided an approval before the deadline.
    #[serde(rename = "continuation.expired")]
    ContinuationExpired {
        /// Which approval expired.
        reason: String,
    },
    /// Ephemeral: a model call began, or waits for its next attempt.
    #[serde(rename = "model.started")]
    ModelStarted {
        /// `<provider>/<model>`.
        model: String,
        /// Number of the attempt for this step, from 1.
        attempt: u32,
        /// When the next attempt begins; none = the call begins now.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        not_before: Option<Timestamp>,
    },
    /// A model call ended.
    #[serde(rename = "model.finished")]
    ModelFinished {
        /// `<provider>/<model>`.
        model: String,
        /// Number of the step that it wrote.
        step: u32,
        /// Tokens and cost of the call.
        usage: Usage,
        /// Duration in milliseconds.
        latency_ms: u64,
        /// What went wrong; none = nothing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// Why the answer ended: `end_turn`, `tool_use`, `max_tokens`, `refusal` or a word of the
        /// provider; none = there is no answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stop: Option<String>,
        /// The model that answered, as the provider names it: a dated name for an alias, or another
        /// model. None = the provider named none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answered_by: Option<String>,
        /// Notes for operators about the answer, such as a fallback model or a compacted context.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        notes: Vec<String>,
    },
    /// Ephemeral: the model wrote text.
    #[serde(rename = "message.delta")]
    MessageDelta {
        /// Number of the step in progress.
        step: u32,
        /// Byte offset of this text within the step's text.
        offset: u64,
        /// The new text: untrusted.
        text: String,
    },
    /// The model proposed a call, and the policy gave its verdict.
    #[serde(rename = "tool.proposed")]
    ToolProposed {
        /// Id of the call.
        call_id: ToolCallId,
        /// Tool name.
        name: String,
        /// One-line preview of the arguments, at most 200 characters: untrusted text.
        preview: String,
        /// The most that the call can touch.
        access: Access,
        /// What recovery may assume about the call after a crash.
        effect: Effect,
        /// How much harm the call can do.
        risk: Risk,
        /// State of the call.
        state: ToolCallState,
        /// The verdict of the policy.
        verdict: Verdict,
    },
    /// A call started. From here on, its effect may have happened.
    #[serde(rename = "tool.started")]
    ToolStarted {
        /// Id of the call.
        call_id: ToolCallId,
        /// Tool name.
        name: String,
        /// Number of the start, from 1.
        attempt: u32,
    },
    /// Ephemeral: output of a running call.
    #[serde(rename = "tool.output")]
    ToolOutput {
        /// Id of the call.
        call_id: ToolCallId,
        /// The new output: untrusted text.
        text: String,
    },
    /// Ephemeral: output of a command that a person runs in the shell of a session.
    #[serde(rename = "shell.output")]
    ShellOutput {
        /// The new output: untrusted text.
        text: String,
    },
    /// A call ended, or its outcome is unknown.
    #[serde(rename = "tool.finished")]
    ToolFinished {
        /// Id of the call.
        call_id: ToolCallId,
        /// Tool name.
        name: String,
        /// State of the call at its end.
        state: ToolCallState,
        /// First 200 characters of the result: untrusted text.
        preview: String,
        /// How long the call ran, in milliseconds.
        duration_ms: Option<u64>,
        /// Set when the tool did not run: the cache returned this earlier result.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cached: Option<CachedResult>,
    },
    /// An external agent reported how its own call ended, or went on without a report.
    #[serde(rename = "call.reported")]
    CallReported {
        /// The call that it asked the gate about; none = it never asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call_id: Option<ToolCallId>,
        /// Tool name.
        tool: String,
        /// How the call ended.
        outcome: ReportOutcome,
        /// First 200 characters of the result: untrusted text.
        preview: String,
    },
    /// The engine asks a person. The event comes again with a new revision after an edit or a
    /// return to pending.
    #[serde(rename = "approval.requested")]
    ApprovalRequested {
        /// The approval after the event.
        approval: Box<Approval>,
    },
    /// A person decided, took the decision back, or the call used the approval.
    #[serde(rename = "approval.decided")]
    ApprovalDecided {
        /// The approval after the event.
        approval: Box<Approval>,
    },
    /// Nobody decided the approval before the deadline.
    #[serde(rename = "approval.expired")]
    ApprovalExpired {
        /// The approval after the event.
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
    /// The platform accepted a part.
    #[serde(rename = "reply.sent")]
    ReplySent {
        /// Delivery id of the part.
        outbox_id: OutboxId,
        /// What the part is for.
        class: OutboxClass,
        /// Channel name.
        channel: String,
        /// Part number from 1.
        part: u32,
    },
    /// The platform refused a part for good.
    #[serde(rename = "reply.failed")]
    ReplyFailed {
        /// Delivery id of the part.
        outbox_id: OutboxId,
        /// Channel name.
        channel: String,
        /// Why the platform refused it, redacted.
        error: String,
        /// State of the part.
        state: OutboxState,
    },
    /// Nobody knows whether a part arrived.
    #[serde(rename = "reply.unknown")]
    ReplyUnknown {
        /// Delivery id of the part.
        outbox_id: OutboxId,
        /// Channel name.
        channel: String,
        /// What is known about the delivery.
        detail: String,
    },
    /// The health, pause, drain or another state of a channel changed.
    #[serde(rename = "channel.state")]
    ChannelState {
        /// The channel after the event.
        channel: Box<Channel>,
    },
    /// The policy of a channel changed.
    #[serde(rename = "policy.changed")]
    PolicyChanged {
        /// Channel name.
        channel: String,
        /// The policy after the event.
        policy: Policy,
        /// Label of who changed it.
        by: String,
    },
    /// A budget is nearly used up, or used up. When it is used up, an approval of kind `budget`
    /// follows.
    #[serde(rename = "budget.reached")]
    BudgetReached {
        /// Name of the budget: `tokens`, `cost`, `session_cost`, `day_tokens` …
        budget: String,
        /// How far it is used up.
        #[serde(default)]
        level: BudgetLevel,
        /// The limit: tokens, US dollars, milliseconds or a count.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<f64>,
        /// How much is used or reserved, in the unit of the limit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        used: Option<f64>,
    },
    /// The cache answered; no model was asked.
    #[serde(rename = "cache.hit")]
    CacheHit {
        /// Channel name.
        channel: String,
        /// `<provider>/<model>` that produced the response.
        model: String,
        /// The cached response and its age.
        cached: CachedAnswer,
    },
    /// Ephemeral: the cache had no response, and the model is asked.
    #[serde(rename = "cache.miss")]
    CacheMiss {
        /// Channel name.
        channel: String,
        /// Why the cache had none.
        reason: CacheMissReason,
    },
    /// Ephemeral: an emergency stop was pressed or released, or the engine has a problem.
    #[serde(rename = "engine.state")]
    EngineState {
        /// The engine after the event.
        engine: Box<EngineStatus>,
    },
    /// Ephemeral: a model call waits, because its provider allows no more calls at the same time.
    #[serde(rename = "model.waiting")]
    ModelWaiting {
        /// Name of the provider.
        provider: String,
        /// How many calls waited before it. The engine shares places fairly, so a later call may
        /// start first (`model::limits`).
        ahead: u32,
    },
    /// A memory was written, changed, deleted or compacted.
    #[serde(rename = "memory.changed")]
    MemoryChanged {
        /// What happened: `added`, `edited`, `pinned`, `accepted`, `superseded`, `deleted`,
        /// `imported`, `compacted`, `erasing` (removal of a user began), `erased` (a user was
        /// removed), `compaction_failed`, `embedded` (search by meaning finds them).
        change: String,
        /// Channel name; none = global, or several channels.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        channel: Option<String>,
        /// Number of memories.
        count: u64,
        /// The compaction; none = it was no compaction.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        compaction: Option<Box<Compaction>>,
        /// Label of who did it.
        by: String,
    },
    /// A memory hygiene run ended or was undone.
    #[serde(rename = "hygiene.finished")]
    HygieneFinished {
        /// The run after the event.
        run: Box<HygieneRun>,
    },
    /// A hook changed or cancelled something, or failed. Ephemeral: other events report the
    /// consequences.
    #[serde(rename = "hook.ran")]
    HookRan {
        /// Name of the hook.
        hook: String,
        /// When the engine called it.
        point: HookPoint,
        /// The verdict of the hook.
        verdict: HookVerdict,
        /// Whether the engine only counted the verdict.
        dry_run: bool,
    },
    /// A routine was created, changed or removed, or ran.
    #[serde(rename = "routine.changed")]
    RoutineChanged {
        /// What happened: `added`, `changed`, `removed`, `ran`, `skipped`, `failed`.
        change: String,
        /// The routine after the event, or before its removal.
        routine: Box<Routine>,
    },
    /// Ephemeral: the state, the offer or the trusted definition of a tool server changed.
    #[serde(rename = "mcp.changed")]
    McpChanged {
        /// Name of the server in the configuration.
        server: String,
    },
    /// Ephemeral: a dataset was added, stays longer, or was removed.
    #[serde(rename = "datasets.changed")]
    DatasetsChanged {
        /// Channel name; none = several channels.
        channel: Option<String>,
    },
    /// A rule was created, changed or removed.
    #[serde(rename = "rule.changed")]
    RuleChanged {
        /// What happened: `added`, `changed`, `removed`.
        change: String,
        /// The rule after the event, or before its removal.
        rule: Box<Rule>,
    },
    /// A person revoked a grant.
    #[serde(rename = "grant.removed")]
    GrantRemoved {
        /// Id of the approval that created the grant.
        approval_id: ApprovalId,
        /// Tool name.
        tool: String,
        /// Label of who revoked it.
        by: String,
    },
    /// An approval was assigned to a person, or its assignment was removed.
    #[serde(rename = "approval.assigned", alias = "approval.handed_over")]
    ApprovalAssigned {
        /// The approval after the event.
        approval: Box<Approval>,
    },
    /// The engine reminded people of an approval in chats.
    #[serde(rename = "approval.reminded")]
    ApprovalReminded {
        /// The approval after the event.
        approval: Box<Approval>,
    },
    /// The first of two people who must allow a call allowed it.
    #[serde(rename = "approval.first_allowed")]
    ApprovalFirstAllowed {
        /// The approval after the event.
        approval: Box<Approval>,
    },
    /// The escalation of an approval changed: its next step, a step taken, or the outcome of a
    /// step.
    #[serde(rename = "approval.escalation")]
    ApprovalEscalation {
        /// The approval after the event.
        approval: Box<Approval>,
    },
    /// Somebody changed who is on call.
    #[serde(rename = "oncall.changed")]
    OnCallChanged {
        /// Who is on call; none = nobody.
        on_call: Option<Box<OnCall>>,
    },
    /// A run left files in places from which other programs run code, or a person dismissed them.
    #[serde(rename = "leftovers.changed")]
    LeftoversChanged {
        /// The files that the run left.
        leftovers: Box<Leftovers>,
    },
    /// A kind that this version does not know.
    #[serde(other, rename = "unknown")]
    Unknown,
}

/// How far a budget is used up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BudgetLevel {
    /// Four fifths of it are used.
    Warning,
    /// The rest does not allow the next action.
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

    /// The continuation state that this event announces; none = it announces no state.
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

/// A subscriber's filter for events.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EventFilter {
    /// Only events after this `seq`; none = only new ones.
    #[serde(default)]
    pub after: Option<u64>,
    /// Without `after`: start with the stored events since this time, or with the newest one when
    /// all are older.
    #[serde(default)]
    pub since: Option<Timestamp>,
    /// Only this session.
    #[serde(default)]
    pub session_id: Option<SessionId>,
    /// Only this continuation.
    #[serde(default)]
    pub continuation_id: Option<ContinuationId>,
    /// Only these kinds; empty = all kinds.
    #[serde(default)]
    pub kinds: Vec<String>,
    /// Sessions whose deltas and tool output to send; empty = none.
    #[serde(default)]
    pub deltas: Vec<SessionId>,
}

/// One item of an event stream.
#[derive(Debug, Clone, PartialEq)]
pub enum StreamItem {
    /// An event.
    Event(Arc<Event>),
    /// The engine no longer has the events after the cursor: take a new snapshot.
    Reset,
}
