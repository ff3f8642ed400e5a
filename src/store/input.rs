//! Plain data that several commands share. No logic lives here.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::clock::Timestamp;
use crate::protocol::approval::{PlanFacts, Preview, Requester};
use crate::protocol::artifact::SentFile;
use crate::protocol::budget::{FloodLimits, Limit};
use crate::protocol::enums::{
    Access, ApprovalKind, Autonomy, DecisionKind, Effect, OutboxClass, Risk, Surface,
    ToolCallState, Unattended,
};
use crate::protocol::ids::{
    ApprovalId, ContinuationId, ModelAttemptId, RuleId, SessionId, ToolCallId,
};
use crate::protocol::policy::Verdict;
use crate::protocol::session::{CachedAnswer, NativeBlocks, Usage};
use crate::protocol::trace_parent::TraceParent;

/// What pauses a conversation, by channel; of others nothing does.
pub type ChannelFloods = Arc<BTreeMap<String, FloodLimits>>;

/// Where an inbound item came from, and the key that makes its redelivery harmless.
#[derive(Debug, Clone)]
pub struct Origin {
    pub channel: String,
    /// Scope of the key: the platform account, token or operator that submitted it.
    pub principal: String,
    /// Idempotency key; none = never repeated.
    pub key: Option<String>,
    /// SHA-256 over the submitted body: the same key with another digest is a conflict.
    pub body_digest: [u8; 32],
    /// Position of the channel after this item; saved in the same transaction.
    pub cursor: Option<String>,
    pub conversation: String,
    /// Human name of the conversation: outside text. Title of a session that starts here.
    pub conversation_title: Option<String>,
    pub requester: Requester,
    /// Through which surface.
    pub surface: Surface,
    /// The platform's id of the message, to reply to.
    pub message_ref: Option<String>,
    /// The trace of the caller that the turn is a part of.
    pub trace: Option<TraceParent>,
}

/// Which session a message belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionChoice {
    /// This one; must be active.
    Id(SessionId),
    /// The active one of the origin's channel and conversation, else a new one.
    Conversation,
    /// A new one that ends with the turn.
    Temporary,
}

/// What the response cache may do for a turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TurnCache {
    /// Ask the model even where a response is cached, and cache the new one.
    pub fresh: bool,
    /// It was said in a direct message: its answer is given to nobody else.
    pub private: bool,
}

impl TurnCache {
    /// Its answer is given to nobody else, and nobody's to it.
    pub const APART: Self = Self {
        fresh: true,
        private: true,
    };
}

/// What bounds a turn beside the policy of its channel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TurnBounds {
    /// Nobody is there to answer; none = somebody is.
    pub unattended: Option<Unattended>,
    /// The most it may do by itself, whatever its channel allows.
    pub autonomy_ceiling: Option<Autonomy>,
    /// It is taken only where no other turn of its session is open. Of a turn that was taken it says nothing.
    pub alone: bool,
}

/// Every limit that can be used up. The first five are of one turn, the others are shared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BudgetKind {
    /// [`crate::protocol::budget::TurnLimits::max_steps`].
    Steps,
    /// [`crate::protocol::budget::TurnLimits::max_tool_calls`].
    ToolCalls,
    /// [`crate::protocol::budget::TurnLimits::max_active_ms`].
    ActiveMs,
    /// [`crate::protocol::budget::TurnLimits::max_tokens`].
    Tokens,
    /// [`crate::protocol::budget::TurnLimits::max_cost_usd`].
    Cost,
    /// Tokens of a session.
    SessionTokens,
    /// US dollars of a session.
    SessionCost,
    /// Tokens of a channel on one day.
    ChannelTokens,
    /// US dollars of a channel on one day.
    ChannelCost,
    /// Tokens of all channels on one day.
    DayTokens,
    /// US dollars of all channels on one day.
    DayCost,
}

impl BudgetKind {
    /// Every kind.
    pub const ALL: &'static [BudgetKind] = &[
        BudgetKind::Steps,
        BudgetKind::ToolCalls,
        BudgetKind::ActiveMs,
        BudgetKind::Tokens,
        BudgetKind::Cost,
        BudgetKind::SessionTokens,
        BudgetKind::SessionCost,
        BudgetKind::ChannelTokens,
        BudgetKind::ChannelCost,
        BudgetKind::DayTokens,
        BudgetKind::DayCost,
    ];

    /// The word stored and shown.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Steps => "steps",
            Self::ToolCalls => "tool_calls",
            Self::ActiveMs => "active_ms",
            Self::Tokens => "tokens",
            Self::Cost => "cost",
            Self::SessionTokens => "session_tokens",
            Self::SessionCost => "session_cost",
            Self::ChannelTokens => "channel_tokens",
            Self::ChannelCost => "channel_cost",
            Self::DayTokens => "day_tokens",
            Self::DayCost => "day_cost",
        }
    }

    /// Whether the first schema knew it: its word has a column of its own there.
    pub(crate) const fn is_of_schema_1(self) -> bool {
        match self {
            Self::Steps | Self::ToolCalls | Self::ActiveMs | Self::Tokens => true,
            Self::Cost
            | Self::SessionTokens
            | Self::SessionCost
            | Self::ChannelTokens
            | Self::ChannelCost
            | Self::DayTokens
            | Self::DayCost => false,
        }
    }

    /// Whether other turns use it up too.
    pub const fn is_shared(self) -> bool {
        match self {
            Self::Steps | Self::ToolCalls | Self::ActiveMs | Self::Tokens | Self::Cost => false,
            Self::SessionTokens
            | Self::SessionCost
            | Self::ChannelTokens
            | Self::ChannelCost
            | Self::DayTokens
            | Self::DayCost => true,
        }
    }

    /// Whether it begins anew every day.
    pub const fn is_of_a_day(self) -> bool {
        self.is_shared() && !matches!(self, Self::SessionTokens | Self::SessionCost)
    }

    /// Whether its amounts are US dollars.
    pub const fn is_money(self) -> bool {
        match self {
            Self::Cost | Self::SessionCost | Self::ChannelCost | Self::DayCost => true,
            Self::Steps
            | Self::ToolCalls
            | Self::ActiveMs
            | Self::Tokens
            | Self::SessionTokens
            | Self::ChannelTokens
            | Self::DayTokens => false,
        }
    }

    /// The kind with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.as_str() == word)
    }
}

/// What a model call is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Turn,
    Session,
}

/// What a model call must stay within beside the limits of its turn, before grants.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct SharedLimits {
    /// The local day it counts on, in days since 1970-01-01.
    pub day: i64,
    /// Of its session, for as long as that lives.
    pub session: Limit,
    /// Of its channel on that day.
    pub channel: Limit,
    /// Of all channels on that day.
    pub all: Limit,
}

/// A model call that a compaction makes.
#[derive(Debug, Clone, PartialEq)]
pub struct CompactionCall {
    /// `<provider>/<model>`.
    pub model: String,
    /// The newest turn it covers: the row of the call hangs on it.
    pub newest: ContinuationId,
    /// Input plus output tokens it may cost.
    pub estimated_tokens: u64,
    /// US dollars it may cost, when priced.
    pub estimated_cost_usd: Option<f64>,
    /// What it must stay within, and the day it counts on.
    pub limits: SharedLimits,
}

/// A word of ours to a conversation.
#[derive(Debug, Clone)]
pub struct NewNotice {
    pub channel: String,
    pub conversation: String,
    /// What for.
    pub class: OutboxClass,
    /// Markdown.
    pub text: String,
    /// Platform id of the message it answers.
    pub reply_to: Option<String>,
    /// The continuation it is about.
    pub continuation_id: Option<ContinuationId>,
}

/// Who does something, for rows, events and the audit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActorRef {
    /// Short label for people.
    pub label: String,
    /// Stable id: `operator:1000`, `token:ci`, `telegram:123`, `engine`.
    pub id: String,
    /// Where.
    pub surface: Surface,
}

impl ActorRef {
    /// The engine itself.
    pub fn engine() -> Self {
        Self {
            label: "engine".to_owned(),
            id: "engine".to_owned(),
            surface: Surface::Engine,
        }
    }
}

/// Where an answer came from.
#[derive(Debug, Clone, PartialEq)]
pub enum AnswerSource {
    /// A model call that was reserved; writing the step settles it.
    Attempt(ModelAttemptId),
    /// The response cache: no model was asked, nothing is settled.
    Cache(CachedAnswer),
    /// A person or a program: the turn is a direct call.
    Direct,
}

/// A model call that succeeded: the step it wrote and what settles its attempt.
#[derive(Debug, Clone)]
pub struct ModelStep {
    /// Where the answer came from.
    pub source: AnswerSource,
    /// `<provider>/<model>`.
    pub model: String,
    /// Visible text: outside text.
    pub text: String,
    /// The provider's words for why it stopped.
    pub stop: String,
    /// The model that answered, as the provider names it: outside text. Only its event says it.
    pub answered_by: Option<String>,
    /// Tokens and money of this attempt.
    pub usage: Usage,
    /// Milliseconds from request to end.
    pub latency_ms: u64,
    /// Model calls made for the step, retries included.
    pub attempts: u32,
    /// Provider-native blocks, verbatim.
    pub native: Option<NativeBlocks>,
    /// What did not fit the window, in words.
    pub dropped: Vec<String>,
    /// What else an operator should know about how the answer came, in words.
    pub notes: Vec<String>,
    /// Milliseconds of model and engine time to add to the continuation.
    pub active_ms: u64,
}

/// A tool call as the model proposed it and the policy evaluated it.
#[derive(Debug, Clone)]
pub struct NewCall {
    pub id: ToolCallId,
    /// The provider's id.
    pub provider_call_id: String,
    /// Tool name: outside text.
    pub name: String,
    /// Arguments: outside text.
    pub args: serde_json::Value,
    /// One line of at most 200 characters.
    pub preview: String,
    /// What it touches.
    pub access: Access,
    /// Recovery class.
    pub effect: Effect,
    pub risk: Risk,
    /// Why.
    pub risk_reasons: Vec<String>,
    /// Where it would run.
    pub plan: PlanFacts,
    /// Lower-case hex SHA-256 over the full plan.
    pub digest: String,
    /// Lower-case hex SHA-256 over the canonical arguments.
    pub args_digest: String,
    /// 24 hex characters, unique.
    pub idempotency_key: String,
    /// What the policy said.
    pub verdict: Verdict,
    /// What the verdict is based on that a person can take back or that can be used up.
    pub basis: Option<Basis>,
    /// What holds instead where that is not in force any more when the call is stored.
    pub fallback: Option<Box<Fallback>>,
    /// What follows from it.
    pub outcome: NewCallOutcome,
}

/// What a verdict is based on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// A rule.
    Rule(RuleId),
    /// A session grant, by the approval it was given with.
    Grant(ApprovalId),
}

/// What holds for a call without any rule or permission that allows.
#[derive(Debug, Clone)]
pub struct Fallback {
    /// What the policy says then.
    pub verdict: Verdict,
    /// What follows from it.
    pub outcome: NewCallOutcome,
}

/// What follows from the verdict on a new call.
#[allow(
    clippy::large_enum_variant,
    reason = "a handful exist at a time, and a box would be in the way of every caller"
)]
#[derive(Debug, Clone)]
pub enum NewCallOutcome {
    /// It may start.
    Ready,
    /// A person is asked.
    Ask(NewApproval),
    /// It never runs; its result is written at once.
    Refused {
        /// `Blocked`, `Denied` or `Failed`.
        state: ToolCallState,
        /// What the model reads.
        content: String,
    },
    /// Nobody is asked, because too many approvals wait. It is counted for people.
    TooManyWait {
        /// What the model reads.
        content: String,
    },
}

/// The facts of a call that an edit or a new plan replaces.
#[derive(Debug, Clone)]
pub struct NewCallFacts {
    pub args: serde_json::Value,
    /// One line of at most 200 characters.
    pub preview: String,
    /// What it touches.
    pub access: Access,
    /// What may happen to it after a crash: other arguments can mean another class.
    pub effect: Effect,
    pub risk: Risk,
    /// Why.
    pub risk_reasons: Vec<String>,
    /// Where it would run.
    pub plan: PlanFacts,
    /// Lower-case hex SHA-256 over the full plan.
    pub digest: String,
    /// Lower-case hex SHA-256 over the canonical arguments.
    pub args_digest: String,
    /// What the policy said.
    pub verdict: Verdict,
}

/// A question for a person.
#[derive(Debug, Clone)]
pub struct NewApproval {
    pub id: ApprovalId,
    /// Six letters and digits.
    pub short_code: String,
    /// What is asked.
    pub kind: ApprovalKind,
    /// Lower-case hex SHA-256 over the full plan.
    pub digest: String,
    /// Which untrusted content is in context.
    pub taint: Vec<String>,
    /// Diff, argv or text.
    pub preview: Preview,
    /// What the model gave as its reason: outside text.
    pub model_reason: Option<String>,
    /// Decisions it accepts.
    pub offered: Vec<DecisionKind>,
    /// When it expires.
    pub expires_at: Option<Timestamp>,
    /// A free-text line for kinds without a tool.
    pub question: Option<String>,
    /// Why a permission for the session would never be used for the call.
    pub once_only: Option<String>,
    /// Cards to send.
    pub cards: Vec<NewCard>,
}

/// A card in a conversation: one outbox row, one token a button.
#[derive(Debug, Clone)]
pub struct NewCard {
    /// Whom it asks, by the name in the configuration.
    pub person: String,
    pub channel: String,
    pub conversation: String,
    /// (what it decides, what it says, its one-shot token) in order; empty = information only.
    pub buttons: Vec<(DecisionKind, String, String)>,
    /// Platform id of the message it answers.
    pub reply_to: Option<String>,
}

/// One part of a final answer.
#[derive(Debug, Clone)]
pub struct NewPart {
    pub channel: String,
    pub conversation: String,
    /// Markdown; of a file, what lists say of it.
    pub text: String,
    /// Platform id of the message it answers.
    pub reply_to: Option<String>,
    /// The file that it is; none = it is a text.
    pub file: Option<SentFile>,
}

/// What the engine says about itself. Such a word leaves during an emergency stop too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineNotice {
    /// An emergency stop holds everything.
    Held,
    /// A request was interrupted and waits.
    Interrupted,
    /// Nobody decided in time.
    Expired,
}

impl EngineNotice {
    /// As stored.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Interrupted => "interrupted",
            Self::Expired => "expired",
        }
    }
}
