//! Sessions, continuations, steps, tool calls and deliveries as surfaces see them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::protocol::approval::{Decision, PlanFacts, Requester};
use crate::protocol::artifact::{ArtifactRef, Attachment, SentFile};
use crate::protocol::citation::Citations;
use crate::protocol::enums::{
    Access, ContinuationState, Effect, ExternalAgent, FloodKind, OutboxClass, OutboxState, Risk,
    SessionState, StepKind, Surface, ToolCallState,
};
use crate::protocol::gate::{CallReport, ExternalSession};
use crate::protocol::ids::{ApprovalId, ContinuationId, OutboxId, SessionId, ToolCallId};
use crate::protocol::memory::SessionMemory;
use crate::protocol::options::TurnOptions;
use crate::protocol::policy::Verdict;
use crate::protocol::schema;
use crate::protocol::shorten::{PREVIEW_BYTES, shorten_json, shorten_text, shorten_texts};
use crate::protocol::take_over::TakeOver;

/// Stop reason of an answer that a person wrote in place of the agent.
pub const BY_HAND: &str = "by_hand";

/// Stands for the model in a step of a turn without a model.
pub const NO_MODEL: &str = "direct call";

/// Longest preferences of a session, in bytes.
pub const MAX_PREFERENCES: usize = 2 * 1024;

/// Tokens and cost of model calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// All input tokens, cached ones included.
    pub input_tokens: u64,
    /// Output tokens, reasoning included.
    pub output_tokens: u64,
    /// Input tokens read from the provider's prompt cache.
    pub cached_input_tokens: u64,
    /// Input tokens written to the provider's prompt cache.
    #[serde(default)]
    pub cache_write_tokens: u64,
    /// US dollars; none = the price of the model is not known.
    pub cost_usd: Option<f64>,
}

impl Usage {
    /// Sum of two usages. An unknown cost makes the sum unknown, unless that part has no tokens.
    pub fn plus(self, other: Usage) -> Usage {
        let has_tokens = |u: &Usage| u.input_tokens + u.output_tokens > 0;
        let cost_usd = match (self.cost_usd, other.cost_usd) {
            (Some(a), Some(b)) => Some(a + b),
            (Some(a), None) if !has_tokens(&other) => Some(a),
            (None, Some(b)) if !has_tokens(&self) => Some(b),
            (Some(_) | None, None) | (None, Some(_)) => None,
        };
        Usage {
            input_tokens: self.input_tokens + other.input_tokens,
            output_tokens: self.output_tokens + other.output_tokens,
            cached_input_tokens: self.cached_input_tokens + other.cached_input_tokens,
            cache_write_tokens: self.cache_write_tokens + other.cache_write_tokens,
            cost_usd,
        }
    }
}

/// A session: the agent state of one conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Session {
    /// Id.
    pub id: SessionId,
    /// Channel name.
    pub channel: String,
    /// Conversation key on that channel.
    pub conversation: String,
    /// Title; untrusted text if the conversation named it.
    pub title: Option<String>,
    /// State of the session.
    pub state: SessionState,
    /// Whether new continuations wait.
    pub paused: bool,
    /// `<provider>/<model>`; none = the default model.
    pub model: Option<String>,
    /// Instructions for models in every turn, redacted; none = there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preferences: Option<String>,
    /// The newest continuation that has not ended.
    pub open_continuation: Option<ContinuationSummary>,
    /// Number of continuations that wait behind it.
    pub queued: u32,
    /// Number of pending approvals.
    pub pending_approvals: u32,
    /// The last line of the conversation, shortened: untrusted text.
    pub last_line: Option<String>,
    /// Who wrote last or asked for the open turn: untrusted text.
    pub last_sender: Option<String>,
    /// Tokens and cost of all turns.
    pub usage: Usage,
    /// Number of turns.
    pub turns: u32,
    /// Counters of its memory; only in answers about one session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<SessionMemory>,
    /// The person who has taken the conversation over; none = the agent answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken_over: Option<TakeOver>,
    /// The external agent of the session; none = the engine runs its agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external: Option<ExternalSession>,
    /// Why the engine paused it; none = it did not pause it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flood: Option<Flood>,
    /// Calls that were refused because too many approvals waited, until a person dismisses them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused_calls: Option<RefusedCalls>,
    /// When its first message came.
    pub created_at: Timestamp,
    /// When it changed last.
    pub updated_at: Timestamp,
}

/// Why the engine paused a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Flood {
    /// What the conversation had too much of.
    pub of: FloodKind,
    /// Number of these.
    pub count: u32,
    /// When the engine paused it.
    pub at: Timestamp,
}

impl Flood {
    /// `3 calls in a row were denied`, `20 turns in ten minutes`.
    pub fn text(self) -> String {
        match (self.of, self.count) {
            (FloodKind::Denials, 1) => "a call was denied".to_owned(),
            (FloodKind::Denials, count) => format!("{count} calls in a row were denied"),
            (FloodKind::Turns, 1) => "a turn in ten minutes".to_owned(),
            (FloodKind::Turns, count) => format!("{count} turns in ten minutes"),
        }
    }
}

/// Calls of a session that were refused without asking, because too many approvals waited.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RefusedCalls {
    /// Number of calls since a person last dismissed them.
    pub count: u32,
    /// When the last one was refused.
    pub last_at: Timestamp,
    /// The newest calls, at most 10, newest first.
    pub newest: Vec<RefusedCall>,
}

impl RefusedCalls {
    /// `1 call refused`, `12 calls refused`.
    pub fn text(count: usize) -> String {
        match count {
            1 => "1 call refused".to_owned(),
            _ => format!("{count} calls refused"),
        }
    }
}

/// A call that was refused without asking.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RefusedCall {
    /// Turn (continuation) of the call.
    pub continuation_id: ContinuationId,
    /// Tool name.
    pub tool: String,
    /// The arguments in one line: untrusted text.
    pub preview: String,
    /// The limit that refused it.
    pub rule: String,
}

/// The fields of a continuation that lists need.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ContinuationSummary {
    /// Id.
    pub id: ContinuationId,
    /// State of the continuation.
    pub state: ContinuationState,
    /// Names of the tools that run.
    pub tools_in_flight: Vec<String>,
    /// Number of files of its message that it waits for before it starts.
    #[serde(default, skip_serializing_if = "schema::is_default")]
    pub waiting_files: u32,
    /// When its message came.
    pub created_at: Timestamp,
    /// When it changed last.
    pub updated_at: Timestamp,
}

/// A message text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TextBody {
    /// The text: untrusted.
    pub text: String,
}

/// An error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorBody {
    /// Error code: `model_unavailable`, `model_protocol`, `budget`, `internal`, `queue` …
    pub code: String,
    /// What happened and what to do, redacted.
    pub message: String,
}

/// A tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolCall {
    /// Id.
    pub id: ToolCallId,
    /// Continuation of the call.
    pub continuation_id: ContinuationId,
    /// Number of the step that proposed it.
    pub step: u32,
    /// Position within that step, from 0.
    pub index: u32,
    /// Tool name.
    pub name: String,
    /// Arguments: untrusted text. Complete unless [`ToolCall::shortened`].
    pub args: serde_json::Value,
    /// The most that the call can touch.
    pub access: Access,
    /// What recovery may assume about the call after a crash.
    pub effect: Effect,
    /// How much harm the call can do.
    pub risk: Risk,
    /// Reasons for the risk.
    #[serde(default)]
    pub risk_reasons: Vec<String>,
    /// Where the call would run.
    #[serde(default)]
    pub plan: PlanFacts,
    /// State of the call.
    pub state: ToolCallState,
    /// The verdict of the policy.
    pub verdict: Verdict,
    /// Its approval; none = it did not ask.
    pub approval_id: Option<ApprovalId>,
    /// The decision of a person; none = there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// The result for the model, once the call ended: untrusted text.
    pub result: Option<String>,
    /// The whole result, when the model reads only a part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact: Option<ArtifactRef>,
    /// Set when the tool did not run: the cache returned this earlier result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<CachedResult>,
    /// How long the call ran, in milliseconds.
    pub duration_ms: Option<u64>,
    /// How often it was started.
    pub attempts: u32,
    /// Report of the external agent that made the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<CallReport>,
    /// When the model proposed it.
    pub created_at: Timestamp,
    /// When it started.
    pub started_at: Option<Timestamp>,
    /// Whether the arguments or the result are cut, as in lists and snapshots. A request for the continuation by its
    /// id returns them whole.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shortened: bool,
}

/// How the rule of a verdict begins that refused a call because too many approvals waited.
pub const TOO_MANY_WAIT: &str = "too many approvals wait";

/// State of a call in a word for people. A call that an external agent makes itself is `allowed` here, not
/// `succeeded`.
pub fn call_word(tool: &str, state: ToolCallState) -> &'static str {
    match state {
        ToolCallState::Succeeded if ExternalAgent::of_tool(tool).is_some() => "allowed",
        _ => state.as_str(),
    }
}

/// How long a call ran, in milliseconds; none = it did not run here.
pub fn call_duration(tool: &str, duration_ms: Option<u64>) -> Option<u64> {
    duration_ms.filter(|_| ExternalAgent::of_tool(tool).is_none())
}

impl ToolCall {
    /// Whether the approval of an external agent's call expired, so that a person can allow the call for the next
    /// time.
    pub fn is_late(&self) -> bool {
        let is_over = matches!(
            self.state,
            ToolCallState::Expired | ToolCallState::Cancelled
        );
        is_over && self.approval_id.is_some() && ExternalAgent::of_tool(&self.name).is_some()
    }

    /// Whether it was refused because too many approvals waited.
    pub fn is_refused(&self) -> bool {
        self.state == ToolCallState::Denied && self.verdict.rule.starts_with(TOO_MANY_WAIT)
    }

    /// Cuts the arguments and the result to [`PREVIEW_BYTES`] each.
    pub fn shorten(&mut self) {
        if self.shortened {
            return;
        }
        let args = shorten_json(&mut self.args, &mut PREVIEW_BYTES.clone());
        let result = self.result.as_mut();
        let result = result.is_some_and(|result| shorten_text(result, &mut PREVIEW_BYTES.clone()));
        self.shortened = args || result;
    }
}

/// A continuation (turn) with everything except its steps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Continuation {
    /// Id.
    pub id: ContinuationId,
    /// Session of the continuation.
    pub session_id: SessionId,
    /// Channel name.
    pub channel: String,
    /// Conversation key.
    pub conversation: String,
    /// State of the continuation.
    pub state: ContinuationState,
    /// Who asked for it.
    pub requester: Requester,
    /// Surface that the message came through.
    pub surface: Surface,
    /// The user's message: untrusted text.
    pub request: TextBody,
    /// Files of the message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
    /// The final answer; none = there is none yet.
    pub response: Option<TextBody>,
    /// Sources that its steps read before the answer.
    #[serde(default, skip_serializing_if = "Citations::is_empty")]
    pub citations: Citations,
    /// Options of the message; none = it had none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<TurnOptions>,
    /// Files that go out with the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<SentFile>,
    /// Tokens and cost of all its model calls.
    pub usage: Usage,
    /// Number of recorded steps.
    pub steps: u32,
    /// Its tool calls, in order.
    pub tool_calls: Vec<ToolCall>,
    /// Ids of its approvals, oldest first.
    pub approvals: Vec<ApprovalId>,
    /// Why it failed, or was interrupted or cancelled.
    pub error: Option<ErrorBody>,
    /// The continuation that it repeats.
    pub retry_of: Option<ContinuationId>,
    /// How often a worker started it.
    pub attempt: u32,
    /// Model for this turn only.
    #[serde(default)]
    pub model: Option<String>,
    /// Number of files of its message that it waits for before it starts.
    #[serde(default, skip_serializing_if = "schema::is_default")]
    pub waiting_files: u32,
    /// When its message came.
    pub created_at: Timestamp,
    /// When it changed last.
    pub updated_at: Timestamp,
}

impl Continuation {
    /// Whether it is a tool call without a model.
    pub fn is_direct_call(&self) -> bool {
        let options = self.options.as_ref();
        options.is_some_and(|options| options.call.is_some())
    }

    /// Why a pending turn has not started, in words; none = only its place in the queue.
    pub fn waits(&self) -> Option<String> {
        match (self.state, self.waiting_files) {
            (ContinuationState::Pending, 1) => Some("waiting for 1 file".to_owned()),
            (ContinuationState::Pending, files) if files > 0 => {
                Some(format!("waiting for {files} files"))
            }
            _ => None,
        }
    }

    /// Number of its calls that were refused because too many approvals waited.
    pub fn refused_calls(&self) -> usize {
        self.tool_calls
            .iter()
            .filter(|call| call.is_refused())
            .count()
    }

    /// Cuts the arguments and results of its tool calls, and its hints.
    pub fn shorten(&mut self) {
        self.tool_calls.iter_mut().for_each(ToolCall::shorten);
        if let Some(options) = &mut self.options {
            shorten_texts(&mut options.hints, &mut PREVIEW_BYTES.clone());
        }
    }
}

/// One stored step of a continuation's log. The engine only adds steps; `resume` folds them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// Continuation of the step.
    pub continuation_id: ContinuationId,
    /// Number within the continuation, from 1.
    pub n: u32,
    /// Kind of the step.
    pub kind: StepKind,
    /// Content of the step.
    pub body: StepBody,
    /// When it was recorded.
    pub at: Timestamp,
}

/// A response from the cache, and its origin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CachedAnswer {
    /// First 16 hex characters of the entry's key.
    pub entry: String,
    /// When the response was stored.
    pub stored_at: Timestamp,
    /// Tokens and cost of the model call that was saved.
    pub saved: Usage,
    /// Whether this turn waited for the same question of somebody else and shared that response.
    #[serde(default)]
    pub coalesced: bool,
}

/// A tool result that the cache returned in place of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CachedResult {
    /// When the tool ran.
    pub stored_at: Timestamp,
    /// Age of the result in milliseconds when the cache returned it.
    pub age_ms: u64,
    /// How long the original run took, in milliseconds.
    pub ran_ms: u64,
}

/// Content of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum StepBody {
    /// The model answered.
    Model {
        /// `<provider>/<model>`.
        model: String,
        /// Visible text: untrusted. May be empty beside tool calls.
        text: String,
        /// Proposed calls, in order.
        tool_calls: Vec<ToolCallId>,
        /// The provider's own word for why the answer stopped.
        stop: String,
        /// Tokens and cost of the step.
        usage: Usage,
        /// Milliseconds from the request to its end.
        latency_ms: u64,
        /// Number of model calls for this step, retries included.
        attempts: u32,
        /// Provider-native blocks, verbatim, to send back to the same provider family only.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        native: Option<NativeBlocks>,
        /// What was left out because it did not fit the context window, in words.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        dropped: Vec<String>,
        /// Notes for operators about the answer, such as a fallback model, a compacted context or a server that cut
        /// it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        notes: Vec<String>,
        /// Set when no model was asked: the cache returned this response.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cached: Option<CachedAnswer>,
    },
    /// A tool call got its result.
    ToolResult {
        /// Id of the call.
        call_id: ToolCallId,
        /// The provider's id of the call.
        provider_call_id: String,
        /// Tool name.
        name: String,
        /// State of the call at its end.
        state: ToolCallState,
        /// The content for the model: untrusted text.
        content: String,
        /// Whether the model reads it as an error.
        is_error: bool,
        /// How long the tool ran, in milliseconds; none = it did not run.
        duration_ms: Option<u64>,
        /// The whole result, when the model reads only a part.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        artifact: Option<ArtifactRef>,
        /// Set when the tool did not run: the cache returned this earlier result.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cached: Option<CachedResult>,
    },
    /// An operator intervened.
    OperatorNote {
        /// Label of the operator.
        by: String,
        /// What the operator did, in words.
        text: String,
    },
    /// The final answer.
    Final {
        /// The text: untrusted.
        text: String,
        /// Why the model stopped.
        stop: String,
        /// Sources that the steps before it read.
        #[serde(default, skip_serializing_if = "Citations::is_empty")]
        citations: Citations,
    },
    /// The error that ended the continuation.
    Error {
        /// The error.
        error: ErrorBody,
    },
}

impl StepBody {
    /// Whether this is the agent's answer, which repeats its last model step. An answer that a person wrote in its
    /// place is not.
    pub fn is_answer(&self) -> bool {
        matches!(self, Self::Final { stop, .. } if stop != BY_HAND)
    }
}

/// Provider-native message blocks, stored verbatim.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NativeBlocks {
    /// Provider family: `anthropic`, `openai-chat` …
    pub family: String,
    /// Content of the assistant message, assembled from what the provider sent.
    pub content: serde_json::Value,
}

/// An entry of a session's transcript.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TranscriptEntry {
    /// Position in the session; rises with time. The cursor for `before`.
    pub position: u64,
    /// Continuation of the entry.
    pub continuation_id: ContinuationId,
    /// When it happened.
    pub at: Timestamp,
    /// Content of the entry.
    pub body: TranscriptBody,
}

/// Content of a transcript entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum TranscriptBody {
    /// A user's message.
    User {
        /// Display name of the sender: untrusted text.
        sender: String,
        /// The message: untrusted text.
        text: String,
    },
    /// A stored step.
    Step {
        /// The step.
        step: Step,
        /// The calls that a model step proposed, in their current state.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<ToolCall>,
    },
    /// State of a continuation after its last step, when it did not complete.
    State {
        /// The state.
        state: ContinuationState,
        /// The error; none = there is none.
        error: Option<ErrorBody>,
    },
    /// From here on, a summary replaces the older turns. The entry follows the last turn that had come when the
    /// compaction began.
    Compacted {
        /// Number of turns that the summary replaces.
        turns: u64,
        /// Number of facts that the compaction found.
        facts: u64,
        /// Estimated tokens of the next prompt before the compaction.
        tokens_before: u64,
        /// Estimated tokens of the next prompt after it; none = not known.
        tokens_after: Option<u64>,
    },
}

/// A delivery: one part of one outbound message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OutboxItem {
    /// Id.
    pub id: OutboxId,
    /// Channel name.
    pub channel: String,
    /// Conversation key.
    pub conversation: String,
    /// Continuation (turn) of the part; none = it belongs to no turn.
    pub continuation_id: Option<ContinuationId>,
    /// What the part is for.
    pub class: OutboxClass,
    /// State of the delivery.
    pub state: OutboxState,
    /// Part number from 1.
    pub part: u32,
    /// Number of parts.
    pub parts: u32,
    /// First characters of the text: untrusted text.
    pub preview: String,
    /// How often the engine handed it to the platform.
    pub attempts: u32,
    /// Earliest next attempt (rate limit, backoff).
    pub not_before: Option<Timestamp>,
    /// The last error, redacted.
    pub last_error: Option<String>,
    /// When it was queued.
    pub created_at: Timestamp,
    /// When it changed last.
    pub updated_at: Timestamp,
    /// The newest approval of kind `resend` about it, decided or not.
    #[serde(default)]
    pub question: Option<ApprovalId>,
}

/// Why a call ran, asked or was refused: the answer of `leverframe why`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Why {
    /// The call with arguments, access, risk, verdict and rule at that time.
    pub call: ToolCall,
    /// Who asked for the turn.
    pub requester: Requester,
    /// The user's message, shortened: untrusted text.
    pub request: String,
    /// The model's own reason for the call: untrusted text.
    pub model_reason: Option<String>,
    /// Channel name.
    pub channel: String,
    /// Untrusted content in the context.
    pub taint: Vec<String>,
    /// Who changed the policy to the deciding version, and when.
    pub policy_author: Option<String>,
    /// Its approval with the decision; none = the call did not ask.
    pub approval: Option<crate::protocol::approval::Approval>,
    /// What hooks did to it, in order.
    #[serde(default)]
    pub hooks: Vec<crate::protocol::hook::HookNote>,
    /// The history of the call, one sentence a line.
    pub story: Vec<String>,
}
