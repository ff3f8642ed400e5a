//! Approvals: durable questions, bound to the digest of what they allow.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::protocol::enums::{
    Access, ApprovalKind, ApprovalState, DecisionKind, DecisionScope, Effect, OutboxClass, Risk,
    Surface, VerdictKind,
};
use crate::protocol::escalation::Escalation;
use crate::protocol::gate::ExternalCaller;
use crate::protocol::ids::{ApprovalId, ContinuationId, OutboxId, SessionId, ToolCallId};
use crate::protocol::on_call::Assignment;
use crate::protocol::policy::{ALWAYS_ASK_LIST, Verdict};
use crate::protocol::rule::COMMANDS;
use crate::protocol::schema;
use crate::protocol::shorten::{PREVIEW_BYTES, shorten_json, shorten_text, shorten_texts};

/// How long a session grant lasts by default, in seconds: 8 hours.
pub const SHAPE_SECONDS: u64 = 8 * 3600;
/// Longest life of a grant or rule that has an end, in seconds: 366 days.
pub const MAX_LIFE_SECONDS: u64 = 366 * 24 * 3600;

/// How many seconds before its deadline a snoozed question returns.
const WAKE_SECONDS: i64 = 600;
/// Longest snooze, in minutes: two days.
pub const MAX_SNOOZE_MINUTES: u32 = 2 * 24 * 60;

/// When a snooze of that many minutes ends, at least ten minutes before the deadline. None = the
/// deadline is too close to snooze.
pub fn snooze_end(now: Timestamp, minutes: u32, deadline: Option<Timestamp>) -> Option<Timestamp> {
    let wanted = now.plus_seconds(i64::from(minutes) * 60);
    let until = match deadline {
        Some(deadline) => wanted.min(deadline.plus_seconds(-WAKE_SECONDS)),
        None => wanted,
    };
    (until > now).then_some(until)
}

/// Who asked for the turn behind an approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Requester {
    /// Stable id: `telegram:123456`, `operator:1000`, `token:ci`.
    pub id: String,
    /// Display name from the platform: untrusted text.
    pub display: String,
    /// Name under `[people]`; none = the id belongs to nobody there.
    pub person: Option<String>,
}

/// What models read about the sender of a message, beside the display name. The engine stores it
/// with the message, so that models read the same later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Speaker {
    /// The same value for all messages of one sender. It does not reveal their platform id.
    pub id: String,
    /// Role of the sender: `user`, `approver`, `owner`, `operator`, `program`, `routine`, `engine`.
    pub role: String,
    /// Day, time and UTC offset in this machine's time zone. The time is left out where responses
    /// are cached.
    pub at: String,
}

/// What a card shows beside the arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Preview {
    /// Nothing beyond the arguments.
    None,
    /// A unified diff of the files that the call would write.
    Diff {
        /// Path relative to the workspace, for a title; the first one of several files.
        path: String,
        /// The diff; complete unless the approval is [`Approval::shortened`].
        unified: String,
    },
    /// The program that the call would run.
    Exec {
        /// Program and arguments, one element each.
        argv: Vec<String>,
    },
    /// Text that the call would send or show.
    Text {
        /// The text; complete unless the approval is [`Approval::shortened`].
        text: String,
    },
}

/// Where a call would run. The digest covers it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanFacts {
    /// Working directory of the call.
    #[serde(default)]
    pub cwd: Option<String>,
    /// The executable that the first argument resolves to.
    #[serde(default)]
    pub executable: Option<String>,
    /// Environment variables for the program, beyond the allow-listed base.
    #[serde(default)]
    pub env: Vec<(String, String)>,
    /// The file or directory that the path leads to after following links, as seen from the
    /// workspace.
    #[serde(default)]
    pub path: Option<String>,
    /// The files of a call that changes several, as seen from the workspace. No path follows a
    /// link.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// Host of the address, in lower case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Files in the workspace that the command names. The digest covers their content, but not the
    /// files that they include.
    #[serde(default)]
    pub bound: Vec<String>,
    /// Why the digest does not cover every file that the command names. No rule or grant covers
    /// such a call.
    #[serde(default)]
    pub unbound: Option<String>,
    /// Sandbox in words: `bubblewrap: workspace only, no network` or `unsandboxed`.
    #[serde(default)]
    pub sandbox: Option<String>,
    /// The external agent that makes the call; none = the engine runs it. The digest covers only
    /// the name of its tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external: Option<ExternalCaller>,
}

impl PlanFacts {
    /// The directory that paths of the call start from: that of its external agent, or else this
    /// one.
    pub fn workspace<'a>(&'a self, of_channel: &'a str) -> &'a str {
        let external = self.external.as_ref();
        external.map_or(of_channel, |external| external.directory.as_str())
    }

    /// Which files that a command names the digest covers, and which not; none = it names none.
    pub fn binding(&self) -> Option<String> {
        if self.bound.is_empty() && self.unbound.is_none() {
            return None;
        }
        let why = self.unbound.as_ref();
        Some(format!(
            "{}{}; files that these include, and files of directories, are not bound",
            self.bound.join(", "),
            why.map_or_else(String::new, |why| format!("; {why}"))
        ))
    }
}

/// A recorded decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Decision {
    /// What was decided.
    pub decision: DecisionKind,
    /// How far an `approve` reaches.
    #[serde(default)]
    pub scope: Option<DecisionScope>,
    /// When the grant ends; none = with its turn or session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// Label of who decided.
    pub by: String,
    /// Where the decision was made.
    pub surface: Surface,
    /// When the decision was made.
    pub at: Timestamp,
    /// The reason that came with the decision.
    #[serde(default)]
    pub reason: Option<String>,
    /// The answer to a question that a running call asked. The result of the call contains every
    /// other answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// Earliest start of the call; until then `revoke` takes the approval back. None = it starts at
    /// once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts_at: Option<Timestamp>,
}

/// The first of two people who must allow a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FirstApproval {
    /// Name under `[people]`.
    pub person: String,
    /// Where they allowed it.
    pub surface: Surface,
    /// When they allowed it.
    pub at: Timestamp,
    /// The revision that they allowed. A new revision needs two people again.
    pub revision: u32,
}

impl FirstApproval {
    /// How far the approval is, in words.
    pub fn in_words(&self) -> String {
        format!("1 of 2 people allow it: {}", self.person)
    }
}

/// Prefix of a risk in the list of what two people must allow.
pub const RISK_ENTRY: &str = "risk:";

/// Whether a list of tools (`bash`, `mcp__files__*`) and risks (`risk:high`: high and above) covers
/// a call.
pub fn takes_two(list: &[String], tool: &str, risk: Risk) -> bool {
    list.iter()
        .any(|entry| match entry.strip_prefix(RISK_ENTRY) {
            Some(word) => word.parse::<Risk>().is_ok_and(|least| risk >= least),
            None => match entry.strip_suffix('*') {
                Some(prefix) => tool.starts_with(prefix),
                None => entry == tool,
            },
        })
}

/// A message that came before a call in its conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PriorMessage {
    /// Display name of the sender: untrusted text; none = the bot.
    pub sender: Option<String>,
    /// Start of the message: untrusted text.
    pub text: String,
}

/// An earlier call of the same tool on the same channel, and its outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SimilarCall {
    /// One-line preview of its arguments.
    pub preview: String,
    /// The verdict of the policy.
    pub verdict: VerdictKind,
    /// The decision of a person; none = nobody was asked.
    pub decision: Option<DecisionKind>,
    /// Label of who decided.
    pub by: Option<String>,
    /// When the call happened.
    pub at: Timestamp,
}

/// An approval with everything a card shows. Every field that quotes untrusted text must go through
/// `text::untrusted` before it reaches a screen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Approval {
    /// Id; it stays the same across restarts.
    pub id: ApprovalId,
    /// Six letters and digits for `/approve CODE` and for confirming critical calls.
    pub short_code: String,
    /// What kind of question it is.
    pub kind: ApprovalKind,
    /// Current state.
    pub state: ApprovalState,
    /// SHA-256 of the full plan, in lower-case hex. A decision must quote it.
    pub digest: String,
    /// Starts at 1 and rises with each edit and each return to pending.
    pub revision: u32,
    /// Tool name; empty when no tool is involved.
    pub tool: String,
    /// The arguments; complete unless [`Approval::shortened`].
    pub args: serde_json::Value,
    /// What the call touches.
    pub access: Access,
    /// What recovery may assume about the call after a crash.
    pub effect: Effect,
    /// How much harm the call can do.
    pub risk: Risk,
    /// Reasons for the risk, one a line.
    pub risk_reasons: Vec<String>,
    /// Untrusted content in the context, one entry a line; empty = none.
    pub taint: Vec<String>,
    /// The diff, program or text that the card shows.
    pub preview: Preview,
    /// Where the call would run.
    #[serde(default)]
    pub plan: PlanFacts,
    /// The model's own reason for the call: untrusted text.
    #[serde(default)]
    pub model_reason: Option<String>,
    /// Channel name.
    pub channel: String,
    /// Conversation key.
    pub conversation: String,
    /// Who asked for the turn.
    pub requester: Requester,
    /// Its session; none for pairing and policy items.
    pub session_id: Option<SessionId>,
    /// The continuation (turn) that asks.
    pub continuation_id: Option<ContinuationId>,
    /// The tool call that waits for it.
    pub tool_call_id: Option<ToolCallId>,
    /// The verdict of the policy, with the rule that asks.
    pub verdict: Verdict,
    /// Decisions that it accepts.
    pub offered: Vec<DecisionKind>,
    /// When the engine asked.
    pub requested_at: Timestamp,
    /// When it expires; none = it has no deadline.
    pub expires_at: Option<Timestamp>,
    /// The recorded decision; none = there is none.
    pub decision: Option<Decision>,
    /// The last five calls of this tool on this channel with their outcomes, newest first.
    #[serde(default)]
    pub similar: Vec<SimilarCall>,
    /// The last three messages before the call, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<PriorMessage>,
    /// A line for kinds without a tool, such as which budget ran out or which delivery is unknown.
    #[serde(default)]
    pub question: Option<String>,
    /// Whether a card reached somebody; false = only consoles show the question.
    #[serde(default)]
    pub notified: bool,
    /// How many reminders one person received in chats; the highest number of anybody.
    #[serde(default, skip_serializing_if = "schema::is_default")]
    pub reminders: u32,
    /// Why a session grant would never apply: the policy asks about such a call every time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub once_only: Option<String>,
    /// What is known of a call or delivery with an unknown outcome (kinds `resolve_unknown` and
    /// `resend`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unknown: Option<Box<UnknownOutcome>>,
    /// To whom the question is assigned while it is pending. Everybody who may decide it still can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assignment: Option<Box<Assignment>>,
    /// The first person who allowed it, where two must.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_by: Option<Box<FirstApproval>>,
    /// Its escalation: the steps so far and the next one; none = its channel has no escalation
    /// policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub escalation: Option<Box<Escalation>>,
    /// Whether the arguments or the preview are cut, as in lists, snapshots and events. A request
    /// for the approval by its id returns them whole.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shortened: bool,
}

impl Approval {
    /// Cuts the arguments and the preview to [`PREVIEW_BYTES`] each.
    pub fn shorten(&mut self) {
        if self.shortened {
            return;
        }
        let args = shorten_json(&mut self.args, &mut PREVIEW_BYTES.clone());
        let mut left = PREVIEW_BYTES;
        let preview = match &mut self.preview {
            Preview::None => false,
            Preview::Diff { unified, .. } => shorten_text(unified, &mut left),
            Preview::Exec { argv } => shorten_texts(argv, &mut left),
            Preview::Text { text } => shorten_text(text, &mut left),
        };
        self.shortened = args || preview;
    }

    /// Whether both approvals ask exactly the same: same id, revision and digest.
    pub fn asks_the_same(&self, other: &Self) -> bool {
        (self.id, self.revision) == (other.id, other.revision) && self.digest == other.digest
    }

    /// Copies the whole content from an approval that asks the same.
    pub fn take_content(&mut self, whole: &Self) {
        self.args.clone_from(&whole.args);
        self.preview.clone_from(&whole.preview);
        self.shortened = whole.shortened;
    }

    /// Why no rule can let such calls run, as far as the question tells; a card then offers only a
    /// rule that denies. None = a rule can. The policy may have changed since the question was
    /// asked.
    pub fn rules_only_deny(&self) -> Option<String> {
        if self.risk == Risk::Critical {
            Some("critical risk always asks".to_owned())
        } else if self.verdict.rule.starts_with(ALWAYS_ASK_LIST) {
            Some(format!("{} is on always_ask", self.tool))
        } else {
            None
        }
    }

    /// The answers it offers, in order; empty = the person writes one.
    pub fn choices(&self) -> Vec<&str> {
        choices(self.kind, &self.args)
    }

    /// What a typed answer means: the choice that it names by number or in other case, or else the
    /// answer itself.
    pub fn answer_said<'a>(&'a self, answer: &'a str) -> &'a str {
        let answer = answer.trim();
        let choices = self.choices();
        let named = choices
            .iter()
            .find(|choice| choice.trim().eq_ignore_ascii_case(answer));
        let numbered = || {
            let number: usize = answer.parse().ok()?;
            choices.get(number.checked_sub(1)?)
        };
        named.or_else(numbered).copied().unwrap_or(answer)
    }

    /// Why it cannot be rehearsed, as far as the question tells; none = it can.
    pub fn not_rehearsed(&self) -> Option<&'static str> {
        let sandbox = self.plan.sandbox.as_deref().unwrap_or_default();
        if self.kind != ApprovalKind::Execute || self.tool != COMMANDS {
            Some("only a command can be rehearsed")
        } else if self.state != ApprovalState::Pending {
            Some("it is no longer pending")
        } else if !sandbox.starts_with("bubblewrap") {
            Some("no sandbox is proved on the daemon's machine, so nothing is rehearsed there")
        } else {
            None
        }
    }

    /// Why it cannot be allowed for the session; none = it can.
    pub fn only_once(&self) -> Option<&str> {
        if self.kind != ApprovalKind::Execute || self.session_id.is_none() {
            Some("only a call can be allowed for the session")
        } else {
            only_once(self.risk, &self.taint, self.once_only.as_deref())
        }
    }
}

/// The answers that an approval of this kind offers for a call with these arguments; empty = none.
pub fn choices(kind: ApprovalKind, args: &serde_json::Value) -> Vec<&str> {
    let is_question = kind == ApprovalKind::Question;
    let listed = args
        .get("choices")
        .filter(|_| is_question)
        .and_then(serde_json::Value::as_array);
    (listed.into_iter().flatten())
        .filter_map(serde_json::Value::as_str)
        .collect()
}

/// Why a call can only be allowed once; none = a session grant is possible and would apply.
/// `always_asks` is the reason why the policy asks each time.
pub fn only_once<'a>(
    risk: Risk,
    taint: &[String],
    always_asks: Option<&'a str>,
) -> Option<&'a str> {
    if risk >= Risk::High {
        Some("never for high risk; allow it once")
    } else if !taint.is_empty() {
        Some("untrusted content is in context; allow it once")
    } else {
        always_asks
    }
}

/// What is known of a call or delivery whose outcome was lost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnknownOutcome {
    /// When it began; none = not recorded.
    pub started_at: Option<Timestamp>,
    /// Number of this start or send, from 1.
    pub attempt: u32,
    /// Starts or sends so far.
    pub attempts: u32,
    /// Boot counter (`epoch`) of the process that began it.
    pub epoch: u64,
    /// The idempotency key that was sent, or would have been sent to a side that takes one.
    pub key: String,
    /// What is known: the last message of the tool or platform, or how the process ended. Untrusted
    /// text.
    pub known: Option<String>,
    /// The message; none = it is about a call.
    #[serde(default)]
    pub delivery: Option<UnknownDelivery>,
}

/// The message whose delivery is unknown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnknownDelivery {
    /// Delivery id.
    pub id: OutboxId,
    /// What the message is for.
    pub class: OutboxClass,
    /// Part number from 1.
    pub part: u32,
    /// Number of parts.
    pub parts: u32,
    /// The whole text that was sent: untrusted text; empty for cards.
    pub text: String,
}
