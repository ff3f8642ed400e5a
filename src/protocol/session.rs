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

/// Why an answer ended that a person wrote in place of the agent.
pub const BY_HAND: &str = "by_hand";

/// What stands for the model in a step of a turn that asks none.
pub const NO_MODEL: &str = "direct call";

/// Longest preferences of a session, in bytes.
pub const MAX_PREFERENCES: usize = 2 * 1024;

/// Tokens and money of model calls.
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
    /// US dollars; none when the model's price is unknown.
    pub cost_usd: Option<f64>,
}

impl Usage {
    /// Sum of two usages; an unknown cost makes the sum unknown unless that part has no tokens.
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

/// A session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Session {
    /// Id.
    pub id: SessionId,
    /// Channel name.
    pub channel: String,
    /// Conversation key on that channel.
    pub conversation: String,
    /// Title: outside text when the conversation named it.
    pub title: Option<String>,
    /// Where it stands.
    pub state: SessionState,
    /// Whether new continuations are held back.
    pub paused: bool,
    /// `<provider>/<model>`, when it differs from the default.
    pub model: Option<String>,
    /// What models are told in every turn of it, redacted; none = nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preferences: Option<String>,
    /// The newest continuation that is not terminal.
    pub open_continuation: Option<ContinuationSummary>,
    /// Continuations that wait behind it.
    pub queued: u32,
    /// Approvals that wait.
    pub pending_approvals: u32,
    /// The last line said, shortened: outside text.
    pub last_line: Option<String>,
    /// Who spoke last or asked for the open turn: outside text.
    pub last_sender: Option<String>,
    /// Sum over all turns.
    pub usage: Usage,
    /// Number of turns.
    pub turns: u32,
    /// What it remembers; only where one session is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<SessionMemory>,
    /// The person who writes in place of its agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken_over: Option<TakeOver>,
    /// The external agent whose session it is; none = the engine runs its agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external: Option<ExternalSession>,
    /// Why the engine paused it; none = it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flood: Option<Flood>,
    /// Calls that were refused because too many waited, until a person dismisses them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused_calls: Option<RefusedCalls>,
    /// First message.
    pub created_at: Timestamp,
    /// Last change.
    pub updated_at: Timestamp,
}

/// Why the engine paused a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Flood {
    /// What there was too much of.
    pub of: FloodKind,
    /// How many there were.
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

/// Calls of a session that nobody was asked about, because too many approvals waited already.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RefusedCalls {
    /// How many, since a person last dismissed them.
    pub count: u32,
    /// When the last one was refused.
    pub last_at: Timestamp,
    /// The newest of them, at most 10, newest first.
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

/// A call that nobody was asked about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RefusedCall {
    /// Its turn.
    pub continuation_id: ContinuationId,
    /// Tool name.
    pub tool: String,
    /// One line of its arguments: outside text.
    pub preview: String,
    /// The limit that refused it.
    pub rule: String,
}

/// The few fields of a continuation that lists need.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ContinuationSummary {
    /// Id.
    pub id: ContinuationId,
    /// Where it stands.
    pub state: ContinuationState,
    /// Names of tools in flight.
    pub tools_in_flight: Vec<String>,
    /// Files of its message that it waits for before it starts.
    #[serde(default, skip_serializing_if = "schema::is_default")]
    pub waiting_files: u32,
    /// When the message came.
    pub created_at: Timestamp,
    /// Last change.
    pub updated_at: Timestamp,
}

/// A text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TextBody {
    /// The text: outside text.
    pub text: String,
}

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorBody {
    /// A stable word: `model_unavailable`, `model_protocol`, `budget`, `internal`, `queue` …
    pub code: String,
    /// What happened and what to do, redacted.
    pub message: String,
}

/// A tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolCall {
    /// Id.
    pub id: ToolCallId,
    /// Its continuation.
    pub continuation_id: ContinuationId,
    /// Number of the step that proposed it.
    pub step: u32,
    /// Position within that step, from 0.
    pub index: u32,
    /// Tool name.
    pub name: String,
    /// Arguments: outside text. Whole, unless it is [`ToolCall::shortened`].
    pub args: serde_json::Value,
    /// What it touches.
    pub access: Access,
    /// Its recovery class.
    pub effect: Effect,
    /// Its risk.
    pub risk: Risk,
    /// Why.
    #[serde(default)]
    pub risk_reasons: Vec<String>,
    /// Where it would run.
    #[serde(default)]
    pub plan: PlanFacts,
    /// Where it stands.
    pub state: ToolCallState,
    /// What the policy said.
    pub verdict: Verdict,
    /// Its approval, when it asked.
    pub approval_id: Option<ApprovalId>,
    /// What a person said of it, when it asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// The result the model reads, once settled: outside text.
    pub result: Option<String>,
    /// Where the whole result is, when the model reads only a part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact: Option<ArtifactRef>,
    /// Set when the tool did not run: the result is one that was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<CachedResult>,
    /// Milliseconds it ran.
    pub duration_ms: Option<u64>,
    /// How often it was started.
    pub attempts: u32,
    /// What the external agent reports that made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<CallReport>,
    /// When it was proposed.
    pub created_at: Timestamp,
    /// When it started.
    pub started_at: Option<Timestamp>,
    /// Whether the arguments or the result are cut, as in lists and snapshots. The continuation asked for by its id has
    /// them whole.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shortened: bool,
}

/// How the rule of a call's verdict begins, where the call was refused because too many approvals waited.
pub const TOO_MANY_WAIT: &str = "too many approvals wait";

/// How a call stands, in a word for people: a call that an external agent makes itself does not succeed here, it is allowed.
pub fn call_word(tool: &str, state: ToolCallState) -> &'static str {
    match state {
        ToolCallState::Succeeded if ExternalAgent::of_tool(tool).is_some() => "allowed",
        _ => state.as_str(),
    }
}

/// How long a call ran, in milliseconds; none of one that did not run here.
pub fn call_duration(tool: &str, duration_ms: Option<u64>) -> Option<u64> {
    duration_ms.filter(|_| ExternalAgent::of_tool(tool).is_none())
}

impl ToolCall {
    /// Whether nobody decided it in time, and an external agent makes it: it can be allowed for the next time.
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

/// A continuation with everything about it except its steps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Continuation {
    /// Id.
    pub id: ContinuationId,
    /// Its session.
    pub session_id: SessionId,
    /// Channel name.
    pub channel: String,
    /// Conversation key.
    pub conversation: String,
    /// Where it stands.
    pub state: ContinuationState,
    /// Who asked.
    pub requester: Requester,
    /// Through which surface.
    pub surface: Surface,
    /// The user's message.
    pub request: TextBody,
    /// The files that came with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
    /// The final answer.
    pub response: Option<TextBody>,
    /// What its steps read before the answer.
    #[serde(default, skip_serializing_if = "Citations::is_empty")]
    pub citations: Citations,
    /// What its message asked for beside its text; none = nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<TurnOptions>,
    /// The files that go with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<SentFile>,
    /// Sum over its model calls.
    pub usage: Usage,
    /// Number of steps recorded.
    pub steps: u32,
    /// Its tool calls in order.
    pub tool_calls: Vec<ToolCall>,
    /// Ids of its approvals, oldest first.
    pub approvals: Vec<ApprovalId>,
    /// What ended it badly, or why it was interrupted or cancelled.
    pub error: Option<ErrorBody>,
    /// The continuation it repeats.
    pub retry_of: Option<ContinuationId>,
    /// How often a worker took it up.
    pub attempt: u32,
    /// Model override of this turn.
    #[serde(default)]
    pub model: Option<String>,
    /// Files of its message that it waits for before it starts.
    #[serde(default, skip_serializing_if = "schema::is_default")]
    pub waiting_files: u32,
    /// When the message came.
    pub created_at: Timestamp,
    /// Last change.
    pub updated_at: Timestamp,
}

impl Continuation {
    /// Whether it is a tool call without a model.
    pub fn is_direct_call(&self) -> bool {
        let options = self.options.as_ref();
        options.is_some_and(|options| options.call.is_some())
    }

    /// What keeps a turn from its start that has not begun, in words; none = its place in the queue.
    pub fn waits(&self) -> Option<String> {
        match (self.state, self.waiting_files) {
            (ContinuationState::Pending, 1) => Some("waiting for 1 file".to_owned()),
            (ContinuationState::Pending, files) if files > 0 => {
                Some(format!("waiting for {files} files"))
            }
            _ => None,
        }
    }

    /// How many of its calls were refused because too many approvals waited.
    pub fn refused_calls(&self) -> usize {
        self.tool_calls
            .iter()
            .filter(|call| call.is_refused())
            .count()
    }

    /// Cuts what its tool calls hold of arguments and results, and its hints.
    pub fn shorten(&mut self) {
        self.tool_calls.iter_mut().for_each(ToolCall::shorten);
        if let Some(options) = &mut self.options {
            shorten_texts(&mut options.hints, &mut PREVIEW_BYTES.clone());
        }
    }
}

/// One step of a continuation's log, as stored. Insert-only; `resume` folds these.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// Its continuation.
    pub continuation_id: ContinuationId,
    /// Number within it, from 1.
    pub n: u32,
    /// What it is.
    pub kind: StepKind,
    /// What it says.
    pub body: StepBody,
    /// When.
    pub at: Timestamp,
}

/// Where an answer from the response cache came from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CachedAnswer {
    /// First 16 hex characters of the entry's key.
    pub entry: String,
    /// When it was stored.
    pub stored_at: Timestamp,
    /// What the model call had used that was not made now.
    pub saved: Usage,
    /// Whether somebody else had asked the same at the same time, and this turn waited for that answer.
    #[serde(default)]
    pub coalesced: bool,
}

/// A tool's result that was given again instead of running the tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CachedResult {
    /// When the tool ran.
    pub stored_at: Timestamp,
    /// Milliseconds from then until it was given again.
    pub age_ms: u64,
    /// Milliseconds that run took.
    pub ran_ms: u64,
}

/// The content of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum StepBody {
    /// The model answered.
    Model {
        /// `<provider>/<model>`.
        model: String,
        /// Visible text; may be empty beside tool calls: outside text.
        text: String,
        /// Calls proposed, in order.
        tool_calls: Vec<ToolCallId>,
        /// The provider's own words for why it stopped.
        stop: String,
        /// Tokens and money.
        usage: Usage,
        /// Milliseconds from request to end.
        latency_ms: u64,
        /// Model calls made for it, retries included.
        attempts: u32,
        /// Provider-native blocks, verbatim, for replay to the same provider family only.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        native: Option<NativeBlocks>,
        /// What did not fit the model's window and was left out, in words.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        dropped: Vec<String>,
        /// What else an operator should know about how the answer came: another model stood in, the context was
        /// compacted, the server cut it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        notes: Vec<String>,
        /// Set when no model was asked: the answer is one that was kept.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cached: Option<CachedAnswer>,
    },
    /// A tool call got its result.
    ToolResult {
        /// Which call.
        call_id: ToolCallId,
        /// The id the provider gave the call.
        provider_call_id: String,
        /// Tool name.
        name: String,
        /// Where the call ended.
        state: ToolCallState,
        /// What the model reads: outside text.
        content: String,
        /// Whether it is an error to the model.
        is_error: bool,
        /// Milliseconds it ran; none when it did not run.
        duration_ms: Option<u64>,
        /// Where the whole result is, when the model reads only a part.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        artifact: Option<ArtifactRef>,
        /// Set when the tool did not run: the result is one that was kept.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cached: Option<CachedResult>,
    },
    /// An operator intervened.
    OperatorNote {
        /// Who.
        by: String,
        /// What, in words.
        text: String,
    },
    /// The final answer.
    Final {
        /// The text: outside text.
        text: String,
        /// Why the model stopped.
        stop: String,
        /// What the steps before it read.
        #[serde(default, skip_serializing_if = "Citations::is_empty")]
        citations: Citations,
    },
    /// The error that ended it.
    Error {
        /// What.
        error: ErrorBody,
    },
}

impl StepBody {
    /// Whether this is the agent's answer, which says its last model step again. What a person wrote in its place is not.
    pub fn is_answer(&self) -> bool {
        matches!(self, Self::Final { stop, .. } if stop != BY_HAND)
    }
}

/// Provider-native message blocks kept verbatim.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NativeBlocks {
    /// Provider family: `anthropic`, `openai-chat` …
    pub family: String,
    /// The assistant message content as the provider sent it, assembled.
    pub content: serde_json::Value,
}

/// A line of a session's transcript.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TranscriptEntry {
    /// Position in the session; rises with time. Cursor for `before`.
    pub position: u64,
    /// Its continuation.
    pub continuation_id: ContinuationId,
    /// When.
    pub at: Timestamp,
    /// What.
    pub body: TranscriptBody,
}

/// What a transcript line is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum TranscriptBody {
    /// A user's message.
    User {
        /// Who: outside text.
        sender: String,
        /// What: outside text.
        text: String,
    },
    /// A stored step.
    Step {
        /// The step.
        step: Step,
        /// The calls a model step proposed, as they stand now.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<ToolCall>,
    },
    /// How the continuation stands after its last step, when it did not complete.
    State {
        /// The state.
        state: ContinuationState,
        /// Why.
        error: Option<ErrorBody>,
    },
    /// From here on older turns are told as a summary. Stands behind the last turn that had come when it began.
    Compacted {
        /// Turns that were put away.
        turns: u64,
        /// Facts that were found.
        facts: u64,
        /// Tokens of the next prompt before it, estimated.
        tokens_before: u64,
        /// And after it; none = not known.
        tokens_after: Option<u64>,
    },
}

/// One part of one outbound message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OutboxItem {
    /// Id.
    pub id: OutboxId,
    /// Channel name.
    pub channel: String,
    /// Conversation key.
    pub conversation: String,
    /// Its continuation.
    pub continuation_id: Option<ContinuationId>,
    /// What it is for.
    pub class: OutboxClass,
    /// Where it stands.
    pub state: OutboxState,
    /// Part number from 1.
    pub part: u32,
    /// Number of parts.
    pub parts: u32,
    /// First characters of the text: outside text.
    pub preview: String,
    /// Times it was handed to the platform.
    pub attempts: u32,
    /// Not before this time (rate limit, backoff).
    pub not_before: Option<Timestamp>,
    /// Last error, redacted.
    pub last_error: Option<String>,
    /// When it was queued.
    pub created_at: Timestamp,
    /// Last change.
    pub updated_at: Timestamp,
    /// The newest question whether it arrived (an approval of kind `resend`), answered or not.
    #[serde(default)]
    pub question: Option<ApprovalId>,
}

/// Why a call ran, asked or was refused: the answer of `leverframe why`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Why {
    /// The call with arguments, access, risk, verdict and rule as it was.
    pub call: ToolCall,
    /// Who asked for the turn.
    pub requester: Requester,
    /// The user's message, shortened.
    pub request: String,
    /// What the model said beside the call.
    pub model_reason: Option<String>,
    /// Channel name.
    pub channel: String,
    /// Which untrusted content was in context.
    pub taint: Vec<String>,
    /// Who changed the policy to the version that was asked, and when.
    pub policy_author: Option<String>,
    /// Its approval with the decision.
    pub approval: Option<crate::protocol::approval::Approval>,
    /// What hooks did to it, in order.
    #[serde(default)]
    pub hooks: Vec<crate::protocol::hook::HookNote>,
    /// What happened, in order, one sentence a line.
    pub story: Vec<String>,
}
