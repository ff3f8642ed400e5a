//! The closed vocabularies: states, classes and levels, each with one fixed word.
//!
//! The same word is used in code, database, API, screens and documentation. No logic beyond naming and
//! ordering lives here; legal transitions are in the store, verdicts in the engine's policy.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::protocol::schema;

/// A word that is not part of the vocabulary it was parsed as.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{word}` is not a {vocabulary}: expected one of {expected}")]
pub struct UnknownValue {
    /// What was being parsed, for example `autonomy`.
    pub vocabulary: &'static str,
    /// The unknown word, shortened to 64 characters.
    pub word: String,
    /// The words that would have been accepted, comma separated.
    pub expected: String,
}

macro_rules! words {
    ($(#[doc = $doc:literal])* $name:ident as $vocabulary:literal { $($(#[doc = $vdoc:literal])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[doc = $doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[doc = $vdoc])* $variant),+ }

        impl $name {
            /// Every value, in declaration order.
            pub const ALL: &'static [$name] = &[$($name::$variant),+];

            /// The fixed word of this value.
            pub const fn as_str(self) -> &'static str {
                match self { $($name::$variant => $word),+ }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl FromStr for $name {
            type Err = UnknownValue;

            fn from_str(word: &str) -> Result<Self, UnknownValue> {
                match word {
                    $($word => Ok($name::$variant),)+
                    _ => Err(UnknownValue {
                        vocabulary: $vocabulary,
                        word: word.chars().take(64).collect(),
                        expected: [$($word),+].join(", "),
                    }),
                }
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                schema::vocabulary(concat!($($doc, "\n"),*), &[$(($word, concat!($($vdoc),*))),+])
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let word = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                word.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

words!(/// State of a continuation.
    ContinuationState as "continuation state" {
    /// Accepted, not started, or ready to go on.
    Pending = "pending",
    /// A worker of this process is on it.
    Running = "running",
    /// Running with an open model stream. Reported by API and events, never stored.
    Streaming = "streaming",
    /// Nothing runs; at least one gate waits for a person.
    AwaitingApproval = "awaiting_approval",
    /// Its process died or was stopped while it ran; it can be resumed.
    Interrupted = "interrupted",
    /// Ended with a final answer.
    Completed = "completed",
    /// Ended by an error.
    Failed = "failed",
    /// Ended by a person.
    Cancelled = "cancelled",
    /// Ended because a gate was not answered in time.
    Expired = "expired",
});

impl ContinuationState {
    /// Whether nothing can be added to a continuation in this state any more.
    pub const fn is_terminal(self) -> bool {
        match self {
            Self::Completed | Self::Failed | Self::Cancelled | Self::Expired => true,
            Self::Pending
            | Self::Running
            | Self::Streaming
            | Self::AwaitingApproval
            | Self::Interrupted => false,
        }
    }
}

words!(/// State of a session.
    SessionState as "session state" {
    /// Accepts messages.
    Active = "active",
    /// Ended by a person (`/new`, `DELETE`).
    Ended = "ended",
    /// Ended by idleness.
    Expired = "expired",
});

words!(/// State of a tool call.
    ToolCallState as "tool call state" {
    /// Written by the model, verdict not yet recorded.
    Proposed = "proposed",
    /// Refused by a rule; never asked.
    Blocked = "blocked",
    /// Refused by a person.
    Denied = "denied",
    /// May start without asking.
    Ready = "ready",
    /// Waits for an approval.
    Awaiting = "awaiting",
    /// Approved, not started.
    Approved = "approved",
    /// Its effect may have happened.
    Started = "started",
    /// Ended with a result.
    Succeeded = "succeeded",
    /// Ended with an error result.
    Failed = "failed",
    /// Was in flight when the process died; nobody knows.
    Indeterminate = "indeterminate",
    /// An operator said it happened.
    SucceededByNote = "succeeded_by_note",
    /// An operator gave it up.
    Abandoned = "abandoned",
    /// Its continuation was cancelled before it started.
    Cancelled = "cancelled",
    /// Its approval was not answered in time.
    Expired = "expired",
});

impl ToolCallState {
    /// Whether the model has (or must get) a result and nothing more will happen.
    pub const fn is_settled(self) -> bool {
        match self {
            Self::Blocked
            | Self::Denied
            | Self::Succeeded
            | Self::Failed
            | Self::SucceededByNote
            | Self::Abandoned
            | Self::Cancelled
            | Self::Expired => true,
            Self::Proposed
            | Self::Ready
            | Self::Awaiting
            | Self::Approved
            | Self::Started
            | Self::Indeterminate => false,
        }
    }
}

words!(/// State of an approval.
    ApprovalState as "approval state" {
    /// Waits for a decision.
    Pending = "pending",
    /// Allowed, not yet used.
    Approved = "approved",
    /// Refused.
    Denied = "denied",
    /// Not answered in time.
    Expired = "expired",
    /// Taken back, or its continuation ended first.
    Revoked = "revoked",
    /// Allowed and used, once.
    Consumed = "consumed",
});

words!(/// What an approval asks.
    ApprovalKind as "approval kind" {
    /// May this tool call run?
    Execute = "execute",
    /// A call was in flight when the process died: did it happen?
    ResolveUnknown = "resolve_unknown",
    /// A reply was in flight when the process died: was it delivered?
    Resend = "resend",
    /// A budget is used up: continue with more?
    Budget = "budget",
    /// The agent asks a person.
    Question = "question",
    /// An unknown sender asks to be let in.
    Pairing = "pairing",
    /// The agent wants to store a fact.
    Memory = "memory",
    /// A tool server changed.
    ServerPin = "server_pin",
    /// The configuration file raises a channel's autonomy.
    PolicyRaise = "policy_raise",
});

words!(/// What a decision says. Which words an approval accepts is in its `offered` list.
    DecisionWord as "decision" {
    /// Allow.
    Approve = "approve",
    /// Refuse; the model reads the reason and goes on.
    Deny = "deny",
    /// Refuse and end the continuation.
    DenyAndStop = "deny_and_stop",
    /// Change the arguments; stays pending under a new revision and digest.
    Edit = "edit",
    /// Give the model this answer in place of the tool's.
    Answer = "answer",
    /// Hide from me for some minutes.
    Snooze = "snooze",
    /// Take an unused approval back.
    Revoke = "revoke",
    /// (unknown outcome) It happened.
    Happened = "happened",
    /// (unknown outcome) Run it again.
    RunAgain = "run_again",
    /// (unknown outcome) Give it up.
    GiveUp = "give_up",
    /// (unknown delivery) It was sent.
    Sent = "sent",
    /// (unknown delivery) Send it again.
    SendAgain = "send_again",
    /// (unknown delivery) Drop it.
    Drop = "drop",
});

words!(/// How far an approval reaches.
    DecisionScope as "decision scope" {
    /// This call only.
    Once = "once",
    /// The same tool with the same arguments in this session.
    Session = "session",
});

words!(/// How much a channel's agent may do by itself. Ordered from least to most.
    Autonomy as "autonomy" {
    /// Everything not explicitly auto-approved asks.
    Supervised = "supervised",
    /// Local reads run, the rest asks.
    SemiAuto = "semi_auto",
    /// Runs everything not blocked, always_ask, tainted or over budget.
    Full = "full",
});

words!(/// What a call touches.
    Access as "access" {
    /// Reads files of the workspace.
    ReadLocal = "read_local",
    /// Reads from the open network.
    ReadOpen = "read_open",
    /// Adds without destroying.
    WriteAdditive = "write_additive",
    /// Changes or removes.
    Write = "write",
    /// Runs a program.
    Exec = "exec",
    /// Sends to somebody.
    Send = "send",
    /// Not classified.
    Unknown = "unknown",
});

words!(/// What recovery may assume about a call found in flight after a crash.
    Effect as "effect class" {
    /// Changes nothing: run again.
    ReadOnly = "read_only",
    /// Running twice equals running once: run again.
    Idempotent = "idempotent",
    /// Takes an idempotency key: run again with the same key.
    Keyed = "keyed",
    /// Can be probed.
    Reconcilable = "reconcilable",
    /// Must not run twice by itself: ask a person.
    NonIdempotent = "non_idempotent",
});

words!(/// How much harm a call can do. Derived, ordered from least to most.
    Risk as "risk" {
    /// Reads.
    Low = "low",
    /// Writes inside the workspace, replies, simple sandboxed commands.
    Medium = "medium",
    /// Overwrites, deletes, other programs, sends elsewhere, unknown.
    High = "high",
    /// Payments, credentials, policy, unsandboxed programs.
    Critical = "critical",
});

words!(/// What the policy says about a call.
    VerdictWord as "verdict" {
    /// Runs without asking.
    Allow = "allow",
    /// Waits for a person.
    Ask = "ask",
    /// Refused; the model is told.
    Deny = "deny",
});

words!(/// State of one outbound part.
    OutboxState as "outbox state" {
    /// To be sent.
    Pending = "pending",
    /// Handed to the platform, answer not yet recorded.
    Sending = "sending",
    /// Accepted by the platform.
    Sent = "sent",
    /// Refused by the platform for good.
    Failed = "failed",
    /// In flight when the process died or the connection broke; nobody knows.
    Unknown = "unknown",
    /// A newer text took its place before it was sent.
    Superseded = "superseded",
    /// Given up by a person.
    Abandoned = "abandoned",
});

words!(/// What an outbound part is for.
    OutboxClass as "outbox class" {
    /// Part of a final answer. Never dropped.
    Final = "final",
    /// An approval with buttons. Never dropped.
    ApprovalCard = "approval_card",
    /// An earlier card, now showing the outcome.
    CardUpdate = "card_update",
    /// A word about progress. Dropped when stale.
    Progress = "progress",
    /// A notice of ours (queue full, help, held).
    Notice = "notice",
});

words!(/// What an answer can cite.
    CitationKind as "kind of source" {
    /// A file of the workspace.
    File = "file",
    /// Content that is kept under its hash.
    Artifact = "artifact",
    /// Something remembered.
    Memory = "memory",
});

words!(/// What a conversation had too much of.
    FloodKind as "flood kind" {
    /// Calls that people denied, in a row.
    Denials = "denials",
    /// Turns in ten minutes.
    Turns = "turns",
});

words!(/// What became of an inbound item.
    Disposition as "disposition" {
    /// A turn was queued.
    Turn = "turn",
    /// A slash command or a click was carried out.
    Command = "command",
    /// The sender is not on the channel's list.
    Pairing = "pairing",
    /// Not for us, or of an unknown shape.
    Ignored = "ignored",
    /// The conversation's queue is full; the sender was told.
    QueueFull = "queue_full",
});

words!(/// What became of somebody who asked to be let in.
    PairingState as "pairing state" {
    /// Waits for a person.
    Pending = "pending",
    /// May talk to the agent.
    Accepted = "accepted",
    /// Stays out, and does not ask again.
    Refused = "refused",
    /// Nobody answered in time; may ask again.
    Expired = "expired",
    /// The decision was taken back; may ask again.
    Revoked = "revoked",
});

words!(/// Role of a person. Ordered from least to most.
    Role as "role" {
    /// May talk to the agent.
    User = "user",
    /// May also decide approvals.
    Approver = "approver",
    /// May also change policy.
    Owner = "owner",
});

words!(/// What a token (or socket peer) may do.
    Scope as "scope" {
    /// Read everything.
    Read = "read",
    /// Messages, cancel, pause, lower autonomy, emergency stop.
    Operate = "operate",
    /// Decide approvals and unknown outcomes.
    Approve = "approve",
    /// Raise autonomy, lists, rules, tokens, release, restore.
    Admin = "admin",
});

words!(/// Where a command came from.
    Surface as "surface" {
    /// The console's keyboard.
    Console = "console",
    /// HTTP.
    Http = "http",
    /// The command line.
    Cli = "cli",
    /// A chat platform.
    Chat = "chat",
    /// A scripted channel of `--demo`.
    Scripted = "scripted",
    /// The engine itself (deadlines, recovery).
    Engine = "engine",
});

words!(/// State of a channel's connection, from its last exchanges, never from "a task exists".
    ChannelState as "channel state" {
    /// Connecting, nothing exchanged yet.
    Starting = "starting",
    /// The last exchange succeeded.
    Connected = "connected",
    /// The last exchange failed; retrying.
    Degraded = "degraded",
    /// Cannot work until a person changes something.
    Failed = "failed",
    /// Paused by an operator.
    Paused = "paused",
    /// Needs no connection (desk, api, cli).
    Local = "local",
});

words!(/// Kind of a channel.
    ChannelKind as "channel kind" {
    /// The console's own chat.
    Desk = "desk",
    /// Sessions started over HTTP.
    Api = "api",
    /// Sessions started by an MCP client.
    Mcp = "mcp",
    /// Sessions started by `leverframe ask`.
    Cli = "cli",
    /// Sessions started by the scheduler.
    Routine = "routine",
    /// Scripted visitors of `--demo`.
    Scripted = "scripted",
    /// Telegram.
    Telegram = "telegram",
});

words!(/// Kind of a step of a continuation's log.
    StepKind as "step kind" {
    /// The model answered: text, tool calls, usage.
    Model = "model",
    /// A tool call got its result.
    ToolResult = "tool_result",
    /// An operator intervened (answer, edit, unknown outcome).
    OperatorNote = "operator_note",
    /// The final answer.
    Final = "final",
    /// The error that ended the continuation.
    Error = "error",
});

words!(/// Whom a cached response may be given to.
    CacheScope as "cache scope" {
    /// Nobody: nothing is kept.
    Off = "off",
    /// The person who asked first, on the same channel.
    User = "user",
    /// Everybody on the same channel.
    Channel = "channel",
});

words!(/// Why no cached response was given.
    CacheMissReason as "reason of a miss" {
    /// The channel keeps none.
    Off = "off",
    /// A new answer was asked for (`/fresh`, a retry).
    Bypass = "bypass",
    /// The session had earlier turns that were sent along.
    NotFresh = "not_fresh",
    /// The same, and the question alone would have had an answer.
    DifferentHistory = "different_history",
    /// Untrusted content was in context.
    Tainted = "tainted",
    /// Nobody asked this before, or the answer is gone.
    NoEntry = "no_entry",
    /// It was too old.
    Expired = "expired",
    /// The question is known under another model, prompt, set of tools or policy.
    Changed = "changed",
    /// The last answer to it used tools, so it was not kept.
    ToolsUsed = "tools_used",
    /// The last answer to it could not be kept for another reason.
    Ineligible = "ineligible",
    /// The file cannot be used at the moment.
    Disabled = "disabled",
});

words!(/// Why an answer was not kept.
    CacheNotKept as "reason not to keep an answer" {
    /// It called tools.
    ToolsUsed = "tools_used",
    /// It was cut at the output limit.
    Cut = "cut",
    /// The provider refused.
    Refused = "refused",
    /// It ended in another way than by itself.
    Unnatural = "unnatural",
    /// It said nothing.
    Empty = "empty",
    /// Another model stood in.
    StandIn = "stand_in",
    /// It is too large.
    TooLarge = "too_large",
    /// It names who asked, and others would be given it too.
    NamesSender = "names_sender",
});

words!(/// Why a cached response went.
    CacheEviction as "reason of an eviction" {
    /// There were more than `max_entries`.
    Count = "count",
    /// They took more than 64 MiB.
    Size = "size",
    /// It was too old.
    Expired = "expired",
    /// It did not read back as it was written.
    Damaged = "damaged",
    /// A person removed it.
    Purged = "purged",
});

words!(/// What costs are summed by.
    CostsBy as "sum" {
    /// Channel.
    Channel = "channel",
    /// Model.
    Model = "model",
    /// Local day.
    Day = "day",
});

words!(/// Where a remembered thing is recalled.
    MemoryScope as "memory scope" {
    /// In its session only.
    Session = "session",
    /// In every session of its channel.
    Channel = "channel",
    /// Everywhere.
    Global = "global",
});

words!(/// Kind of a remembered thing.
    MemoryKind as "memory kind" {
    /// How something is.
    Fact = "fact",
    /// What somebody likes.
    Preference = "preference",
    /// What was decided.
    Decision = "decision",
    /// What is to be done.
    Task = "task",
    /// Who somebody is.
    Person = "person",
});

words!(/// Who wrote a remembered thing.
    MemoryAuthor as "memory author" {
    /// A user, who asked for it.
    User = "user",
    /// The model.
    Model = "model",
    /// An operator.
    Operator = "operator",
});

words!(/// State of a remembered thing.
    MemoryState as "memory state" {
    /// Waits for a person; not recalled.
    Proposed = "proposed",
    /// Recalled.
    Active = "active",
    /// Another one says it better; not recalled.
    Superseded = "superseded",
    /// Archived by hygiene; not recalled.
    Archived = "archived",
});

words!(/// State of a compaction.
    CompactionState as "compaction state" {
    /// Under way.
    Running = "running",
    /// Its turns are covered by the summary.
    Done = "done",
    /// Nothing changed.
    Failed = "failed",
});

words!(/// Why hygiene archives something or removes it.
    HygieneReason as "hygiene reason" {
    /// Its own end is reached.
    Expired = "expired",
    /// Neither used nor changed within the days that its scope keeps.
    Retention = "retention",
    /// Its scope holds more than it may: the least useful go.
    Size = "size",
    /// What it belongs to is gone.
    Orphan = "orphan",
    /// It was archived and the time to undo that is over: removed for good.
    Removed = "removed",
});

words!(/// State of a run of hygiene.
    HygieneState as "hygiene state" {
    /// Under way.
    Running = "running",
    /// What it archived can be restored until its time is over.
    Done = "done",
    /// It ended before it did everything; what it archived can be restored until its time is over.
    Stopped = "stopped",
    /// It was taken back.
    Undone = "undone",
    /// What it archived is removed for good.
    Removed = "removed",
});

words!(/// When a hook is called.
    HookPoint as "hook point" {
    /// Before a model is asked; may change or cancel.
    BeforeLlmCall = "before_llm_call",
    /// Before a proposed call is checked; may change or cancel. Called again at the start, where it may only veto.
    BeforeToolCall = "before_tool_call",
    /// After a call ended.
    AfterToolCall = "after_tool_call",
    /// A session was opened.
    SessionStart = "session_start",
    /// A session ended.
    SessionEnd = "session_end",
    /// A person is asked.
    ApprovalRequested = "approval_requested",
    /// A person answered.
    ApprovalDecided = "approval_decided",
    /// A message was accepted.
    MessageReceived = "message_received",
    /// A reply was accepted by the platform.
    ReplySent = "reply_sent",
});

words!(/// What happens to runs of a routine that were due while nothing ran.
    MissedRuns as "policy for missed runs" {
    /// Nothing.
    Skip = "skip",
    /// One run makes up for all of them.
    RunOnce = "run_once",
});

words!(/// State of a run of a routine.
    RoutineRunState as "routine run state" {
    /// It became a turn.
    Started = "started",
    /// It did not run, for a reason that is no fault.
    Skipped = "skipped",
    /// It could not be started.
    Failed = "failed",
});

words!(/// What becomes of a gated call where nobody is there to answer.
    Unattended as "unattended policy" {
    /// It is denied and the turn goes on.
    Deny = "deny",
    /// It waits for a person.
    Park = "park",
});

words!(/// Why a tool ran although its results may be given again.
    ToolCacheMiss as "reason of a tool's miss" {
    /// The channel keeps none.
    Off = "off",
    /// A new answer was asked for (`/fresh`, a retry).
    Bypass = "bypass",
    /// Nobody called it so before, or the result is gone.
    First = "first",
    /// The result was too old.
    Expired = "expired",
    /// Something that may write in the workspace ran since, runs now, or the program was started anew.
    WorkspaceChanged = "workspace_changed",
    /// The policy has another version now.
    PolicyChanged = "policy_changed",
    /// The file cannot be used at the moment.
    Disabled = "disabled",
});

words!(/// Why a tool's result was not kept.
    ToolCacheNotKept as "reason not to keep a result" {
    /// It is an error, or the run was stopped.
    Failed = "failed",
    /// It is a part: cut short by a limit or by time, or too large for a model to read whole.
    Partial = "partial",
    /// Something that may write in the workspace ran at the same time.
    WorkspaceChanged = "workspace_changed",
});

words!(/// How a rule compares.
    RuleMatcher as "matcher of rules" {
    /// The same, nothing more.
    Exact = "exact",
    /// It begins so.
    Prefix = "prefix",
    /// `*` stands for anything, `?` for one character, and a last word `**` for any further words.
    Pattern = "pattern",
});

words!(/// How far a rule reaches.
    RuleScope as "scope of rules" {
    /// One session, while it lasts.
    Session = "session",
    /// One channel.
    Channel = "channel",
    /// Every channel.
    Global = "global",
});

words!(/// By what a search found something.
    FoundBy as "way to find" {
    /// Its words.
    Words = "words",
    /// Its meaning.
    Meaning = "meaning",
    /// Both.
    Both = "both",
});

words!(/// When a setting comes into use that a reload of the configuration changes.
    ReloadEffect as "effect" {
    /// With the reload. Turns under way end under the old setting.
    Now = "now",
    /// What is stricter, with the reload; what is looser waits for an approval in the Queue.
    Policy = "policy",
    /// In consoles that are opened from now on.
    NextConsole = "next_console",
    /// With the next start of the process.
    Restart = "restart",
});
