//! The submission side of the one seam: what any surface can ask the engine to do.
//!
//! Commands are plain data. The adapter sets actor and surface from what it has authenticated, never
//! from a request body; `engine::handle` alone checks scopes and policy.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::protocol::approval::Approval;
use crate::protocol::backup::BackupReport;
use crate::protocol::cache::{CacheEntry, CachePurge, CachePurged};
use crate::protocol::channel::Channel;
use crate::protocol::duty::{Duty, HandOverRequest, OnCallRequest};
use crate::protocol::hook::{HookCommand, HookOutcome};
use crate::protocol::hygiene::{HygieneCommand, HygieneRun};
use crate::protocol::ids::{ApprovalId, ContinuationId, OutboxId, SessionId, ToolCallId};
use crate::protocol::leftovers::Leftovers;
use crate::protocol::memory::{MemoryCommand, MemoryOutcome};
use crate::protocol::models::{Discovery, ModelTest};
use crate::protocol::pairing::{Pairing, PairingCommand};
use crate::protocol::policy::PolicyPatch;
use crate::protocol::routine::{RoutineCommand, RoutineOutcome};
use crate::protocol::rule::{RuleCommand, RuleOutcome, RulePatch};
use crate::protocol::session::{Continuation, OutboxItem, Session};
use crate::protocol::snapshot::{EngineStatus, SweepReport};
use crate::protocol::take_over::TakeOverCommand;
use crate::protocol::uncertain::ConversationChoice;
use crate::protocol::words::{
    ContinuationState, DecisionScope, DecisionWord, Role, Scope, Surface,
};

/// Who acts. Set by the adapter that authenticated the caller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Actor {
    /// A person at this machine: the embedded console or a peer of the unix socket. Holds every scope.
    Operator {
        /// Unix user id of the peer.
        uid: u32,
        /// Login name, or the uid in digits.
        name: String,
    },
    /// The holder of a bearer token.
    Token {
        /// The token's public name.
        name: String,
        /// What it may do.
        scopes: Vec<Scope>,
    },
    /// A human on a chat platform.
    Person {
        /// Stable platform id, for example `telegram:123456`.
        platform_id: String,
        /// Name under `[people]`, when the id is linked to one.
        name: Option<String>,
        /// Role under `[people]`; an unlisted person is a user.
        role: Role,
    },
    /// The engine itself.
    Engine,
}

impl Actor {
    /// A short stable label: a person's configured name, else the platform id, token or login name.
    pub fn label(&self) -> String {
        match self {
            Actor::Operator { name, .. } => name.clone(),
            Actor::Token { name, .. } => format!("token {name}"),
            Actor::Person {
                platform_id, name, ..
            } => name.clone().unwrap_or_else(|| platform_id.clone()),
            Actor::Engine => "engine".to_owned(),
        }
    }
}

/// A command with its origin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Envelope {
    /// What to do.
    pub command: Command,
    /// Who asks.
    pub actor: Actor,
    /// Where it came from.
    pub surface: Surface,
    /// Makes a repeated submission return the first one's result. Scoped to the actor.
    pub idempotency_key: Option<String>,
}

/// Limits a caller may set for one continuation. Each can only lower what the configuration allows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BudgetRequest {
    /// Model calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_steps: Option<u32>,
    /// Tool calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tool_calls: Option<u32>,
    /// Seconds of model and engine time; waiting for people and tools does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_duration_seconds: Option<u32>,
    /// Input plus output tokens of all model calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// US dollars of all model calls; calls whose price is not known do not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_cost_usd: Option<f64>,
}

/// A person's answer to an approval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DecisionRequest {
    /// What is decided.
    pub decision: DecisionWord,
    /// How far an `approve` reaches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<DecisionScope>,
    /// Digest of exactly what was shown. A different current digest is a conflict.
    pub digest: String,
    /// Revision that was shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<u32>,
    /// The short code, required to approve critical calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirm_code: Option<String>,
    /// Read by the model (deny), at most 2 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// New arguments (edit).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<serde_json::Value>,
    /// The answer given in place of the tool's (answer), at most 64 KiB; for a question, its answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// Minutes (snooze).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minutes: Option<u32>,
    /// Extra amount (budget): a count, tokens, seconds or US dollars, as the question says; none = what it offers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<f64>,
    /// Milliseconds the card was on screen before the decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_ms: Option<u64>,
    /// A rule that is made with the decision, or not at all (approve and deny on a call).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<Box<RulePatch>>,
}

impl DecisionRequest {
    /// A decision on what has this digest, without any extras.
    pub fn new(decision: DecisionWord, digest: String) -> Self {
        Self {
            decision,
            scope: None,
            digest,
            revision: None,
            confirm_code: None,
            reason: None,
            args: None,
            answer: None,
            minutes: None,
            extra: None,
            seen_ms: None,
            rule: None,
        }
    }
}

/// What to do with what waited during an emergency stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Waiting {
    /// Only the newest continuation of each conversation goes on.
    Newest,
    /// Everything goes on.
    #[default]
    All,
    /// Everything that waited is cancelled with a notice.
    Drop,
}

/// How an unknown or failed delivery is settled by a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryResolution {
    /// It arrived.
    Sent,
    /// Send it again.
    SendAgain,
    /// Give it up.
    Drop,
}

/// Longest text of a message, in bytes.
pub const MAX_TEXT_BYTES: usize = 256 * 1024;

/// Everything a surface can submit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "command", rename_all = "snake_case")]
pub enum Command {
    /// Opens a session, or returns the active one of the same channel and conversation.
    StartSession {
        /// Channel name; default `api`.
        #[serde(default)]
        channel: Option<String>,
        /// Conversation key on that channel; default a fresh one.
        #[serde(default)]
        conversation: Option<String>,
        /// Title shown in lists.
        #[serde(default)]
        title: Option<String>,
        /// `<provider>/<model>`.
        #[serde(default)]
        model: Option<String>,
    },
    /// Changes a session.
    UpdateSession {
        /// Which one.
        session_id: SessionId,
        /// New title.
        #[serde(default)]
        title: Option<String>,
        /// New model.
        #[serde(default)]
        model: Option<String>,
        /// Whether new continuations are held back.
        #[serde(default)]
        paused: Option<bool>,
    },
    /// Ends a session; open continuations are cancelled.
    EndSession {
        /// Which one.
        session_id: SessionId,
    },
    /// Goes back to an earlier session of a conversation. Its active session ends, and open continuations are cancelled.
    ResumeSession {
        /// Which one.
        session_id: SessionId,
    },
    /// Submits a user message.
    SendMessage {
        /// Which session.
        session_id: SessionId,
        /// The text, at most 256 KiB.
        text: String,
        /// Model for this turn only.
        #[serde(default)]
        model: Option<String>,
        /// Lower limits for this turn.
        #[serde(default)]
        budgets: BudgetRequest,
        /// Ask the model even where an answer is kept, and keep the new one.
        #[serde(default)]
        fresh: bool,
    },
    /// Submits a message to a temporary session that ends with the turn.
    Ask {
        /// Channel whose policy applies; `api` over HTTP, `cli` from the command line.
        channel: String,
        /// The text.
        text: String,
        /// Model for this turn only.
        #[serde(default)]
        model: Option<String>,
        /// Lower limits for this turn.
        #[serde(default)]
        budgets: BudgetRequest,
        /// Ask the model even where an answer is kept, and keep the new one.
        #[serde(default)]
        fresh: bool,
    },
    /// Ends a continuation; kills its tools.
    CancelContinuation {
        /// Which one.
        continuation_id: ContinuationId,
        /// Shown in history.
        #[serde(default)]
        reason: Option<String>,
    },
    /// Lets an interrupted continuation go on from its last durable step.
    ResumeContinuation {
        /// Which one.
        continuation_id: ContinuationId,
    },
    /// Starts a terminal continuation's message again as a new continuation.
    RetryContinuation {
        /// Which one.
        continuation_id: ContinuationId,
    },
    /// Answers an approval.
    Decide {
        /// Which one.
        approval_id: ApprovalId,
        /// The answer.
        decision: DecisionRequest,
    },
    /// Changes a channel's policy.
    SetPolicy {
        /// Channel name.
        channel: String,
        /// What changes; absent fields stay.
        patch: PolicyPatch,
    },
    /// Stops taking messages from and sending to a channel's platform.
    PauseChannel {
        /// Channel name.
        channel: String,
    },
    /// Undoes a pause.
    ResumeChannel {
        /// Channel name.
        channel: String,
    },
    /// Settles an unknown or failed delivery.
    ResolveDelivery {
        /// Which part.
        outbox_id: OutboxId,
        /// How.
        resolution: DeliveryResolution,
        /// Why, kept with the decision.
        #[serde(default)]
        reason: Option<String>,
    },
    /// Kills running tools, holds all model calls, tool starts and sends.
    EmergencyStop {
        /// Shown to everyone.
        #[serde(default)]
        reason: Option<String>,
    },
    /// Releases the emergency stop.
    ReleaseEmergencyStop {
        /// What happens to what waited.
        #[serde(default)]
        waiting: Waiting,
        /// Where something else happens, by conversation.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        conversations: Vec<ConversationChoice>,
    },
    /// Writes a backup into one file, while everything goes on.
    Backup {
        /// Absolute path of the file, which must not exist, as the engine's process sees it.
        path: String,
    },
    /// Removes what is kept no longer, now.
    Sweep {
        /// Only counts.
        #[serde(default)]
        preview: bool,
    },
    /// Really asks a model, to see what works. Costs what the calls cost; returns when they have ended.
    TestModel {
        /// `<provider>/<model>`; the default model where it is left out.
        #[serde(default)]
        model: Option<String>,
    },
    /// Keeps an answer past its time, or no longer.
    PinCacheEntry {
        /// Its id, or a longer beginning of its key.
        id: String,
        /// Whether.
        pinned: bool,
    },
    /// Forgets kept answers.
    PurgeCache {
        /// Which.
        what: CachePurge,
    },
    /// Does something with memory.
    Memory(MemoryCommand),
    /// Tidies memory, or takes that back.
    Hygiene(HygieneCommand),
    /// Does something with a hook.
    Hook(HookCommand),
    /// Does something with a routine.
    Routine(RoutineCommand),
    /// Looks for model servers on the engine's machine, and uses none.
    DiscoverModels,
    /// Does something with a rule.
    Rule(RuleCommand),
    /// Does something with a conversation in place of its agent.
    TakeOver(TakeOverCommand),
    /// Lets a channel finish what was begun and take up nothing new, or everything again.
    DrainChannel {
        /// Channel name.
        channel: String,
        /// Whether.
        drain: bool,
    },
    /// Sends a message to a conversation that says that it is a test.
    TestChannel {
        /// Channel name.
        channel: String,
        /// Conversation key; the one with the newest change where it is left out.
        #[serde(default)]
        conversation: Option<String>,
    },
    /// Does something with somebody who asks to be let in, or was.
    Pairing(PairingCommand),
    /// Lets a question wait for somebody in particular; decides nothing.
    HandOver {
        /// Which one.
        approval_id: ApprovalId,
        /// To whom.
        request: HandOverRequest,
    },
    /// Says who is on call.
    SetOnCall(OnCallRequest),
    /// Takes what a call left in places that make programs run off the Queue; no file changes.
    DismissLeftovers {
        /// Which call.
        tool_call_id: ToolCallId,
    },
}

impl Command {
    /// The least scope an actor needs. Raising autonomy and widening lists needs more; the engine checks that.
    pub fn required_scope(&self) -> Scope {
        match self {
            Command::StartSession { .. }
            | Command::UpdateSession { .. }
            | Command::EndSession { .. }
            | Command::ResumeSession { .. }
            | Command::SendMessage { .. }
            | Command::Ask { .. }
            | Command::CancelContinuation { .. }
            | Command::ResumeContinuation { .. }
            | Command::RetryContinuation { .. }
            | Command::SetPolicy { .. }
            | Command::PauseChannel { .. }
            | Command::ResumeChannel { .. }
            | Command::TakeOver(_)
            | Command::DrainChannel { .. }
            | Command::TestChannel { .. }
            | Command::EmergencyStop { .. }
            | Command::TestModel { .. }
            | Command::SetOnCall(_)
            | Command::PinCacheEntry { .. }
            | Command::PurgeCache { .. } => Scope::Operate,
            Command::Memory(command) => match command {
                MemoryCommand::Add { .. }
                | MemoryCommand::Edit { .. }
                | MemoryCommand::Pin { .. }
                | MemoryCommand::Accept { .. }
                | MemoryCommand::Supersede { .. }
                | MemoryCommand::Forget { .. }
                | MemoryCommand::Compact { .. } => Scope::Operate,
                MemoryCommand::ForgetPerson { .. } | MemoryCommand::Import { .. } => Scope::Admin,
            },
            Command::Hook(HookCommand::Try { .. } | HookCommand::Reset { .. }) => Scope::Operate,
            Command::Routine(RoutineCommand::RunNow { .. })
            | Command::Rule(RuleCommand::RemoveGrant { .. }) => Scope::Operate,
            Command::Hygiene(HygieneCommand::Run { .. } | HygieneCommand::Undo { .. })
            | Command::Routine(
                RoutineCommand::Add { .. }
                | RoutineCommand::Change { .. }
                | RoutineCommand::Remove { .. },
            ) => Scope::Admin,
            Command::Decide { .. }
            | Command::ResolveDelivery { .. }
            | Command::Pairing(_)
            | Command::HandOver { .. }
            | Command::DismissLeftovers { .. } => Scope::Approve,
            Command::ReleaseEmergencyStop { .. }
            | Command::Backup { .. }
            | Command::Sweep { .. }
            | Command::DiscoverModels
            | Command::Rule(
                RuleCommand::Add { .. } | RuleCommand::Change { .. } | RuleCommand::Remove { .. },
            ) => Scope::Admin,
        }
    }
}

/// The answer to a message submission: it is durable, and this is where to look for the result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Accepted {
    /// The session.
    pub session_id: SessionId,
    /// The continuation.
    pub continuation_id: ContinuationId,
    /// Its state when the answer was written.
    pub state: ContinuationState,
    /// When it was accepted.
    pub at: Timestamp,
    /// Whether this was a repetition of an earlier submission with the same key.
    #[serde(default)]
    pub repeated: bool,
}

/// What a carried-out command returns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "outcome", content = "value", rename_all = "snake_case")]
pub enum Outcome {
    /// A message was accepted.
    Accepted(Accepted),
    /// The session after the command.
    Session(Session),
    /// The continuation after the command.
    Continuation(Continuation),
    /// The approval after the command.
    Approval(Approval),
    /// The channel after the command.
    Channel(Channel),
    /// The delivery after the command.
    Delivery(OutboxItem),
    /// The engine after the command.
    Engine(EngineStatus),
    /// The backup that was written.
    Backup(BackupReport),
    /// What was swept.
    Swept(SweepReport),
    /// What asking a model showed.
    ModelTest(ModelTest),
    /// The kept answer after the command.
    CacheEntry(CacheEntry),
    /// What was forgotten.
    CachePurged(CachePurged),
    /// What came of a command to memory.
    Memory(MemoryOutcome),
    /// The run after the command.
    Hygiene(HygieneRun),
    /// What came of a command to a hook.
    Hook(HookOutcome),
    /// What came of a command to a routine.
    Routine(RoutineOutcome),
    /// The model servers that were found.
    Discovery(Discovery),
    /// What came of a command to a rule.
    Rule(RuleOutcome),
    /// The pairing after the command.
    Pairing(Pairing),
    /// Who is on call after the command.
    Duty(Box<Duty>),
    /// What a call left, after the command.
    Leftovers(Box<Leftovers>),
}
