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

/// Seconds a permission for one shape in one session holds where nobody says how long.
pub const SHAPE_SECONDS: u64 = 8 * 3600;
/// Seconds that a permission or a rule holds at most, unless it holds until its session ends or is removed: a year.
pub const MAX_LIFE_SECONDS: u64 = 366 * 24 * 3600;

/// Seconds before its deadline at which a snoozed question is back.
const WAKE_SECONDS: i64 = 600;
/// Longest snooze, in minutes: two days.
pub const MAX_SNOOZE_MINUTES: u32 = 2 * 24 * 60;

/// When a snooze of so many minutes ends: never later than ten minutes before the deadline. None = the deadline is too
/// close for one.
pub fn snooze_end(now: Timestamp, minutes: u32, deadline: Option<Timestamp>) -> Option<Timestamp> {
    let wanted = now.plus_seconds(i64::from(minutes) * 60);
    let until = match deadline {
        Some(deadline) => wanted.min(deadline.plus_seconds(-WAKE_SECONDS)),
        None => wanted,
    };
    (until > now).then_some(until)
}

/// Who asked for what an approval gates.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Requester {
    /// Stable id: `telegram:123456`, `operator:1000`, `token:ci`.
    pub id: String,
    /// Display name as the platform gave it: outside text.
    pub display: String,
    /// Name under `[people]`, when linked.
    pub person: Option<String>,
}

/// What models are told of who wrote a message and when, beside the display name. Kept with the message: whatever
/// changes later, models read the same of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Speaker {
    /// The same for all messages of one sender. Tells nothing about their platform id.
    pub id: String,
    /// What they are here, in a word: `user`, `approver`, `owner`, `operator`, `program`, `routine`, `engine`.
    pub role: String,
    /// Day, time and offset in the time zone of this machine; without the time where answers are kept.
    pub at: String,
}

/// What an operator is shown beside the arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Preview {
    /// Nothing beyond the arguments.
    None,
    /// A unified diff of the files that would be written.
    Diff {
        /// Paths relative to the workspace, for a title; of many files the first.
        path: String,
        /// The diff; complete, unless the approval is [`Approval::shortened`].
        unified: String,
    },
    /// A program that would be run.
    Exec {
        /// One element per argument.
        argv: Vec<String>,
    },
    /// Text that would be sent or shown.
    Text {
        /// The text; complete, unless the approval is [`Approval::shortened`].
        text: String,
    },
}

/// Where a call would run. Part of the digest.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanFacts {
    /// Working directory.
    #[serde(default)]
    pub cwd: Option<String>,
    /// The executable that the first argument resolves to.
    #[serde(default)]
    pub executable: Option<String>,
    /// Variables set for the program beyond the allow-listed base.
    #[serde(default)]
    pub env: Vec<(String, String)>,
    /// The file or directory that a path leads to, links followed, as seen from the workspace.
    #[serde(default)]
    pub path: Option<String>,
    /// The files that a call of several files leads to, as seen from the workspace. None of them through a link.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// The host that an address leads to, in lower case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Files of the workspace that a command names, whose content is part of the digest. What they include is not.
    #[serde(default)]
    pub bound: Vec<String>,
    /// Why these are not all that it names; no rule or permission covers such a call.
    #[serde(default)]
    pub unbound: Option<String>,
    /// In words: `bubblewrap: workspace only, no network` or `unsandboxed`.
    #[serde(default)]
    pub sandbox: Option<String>,
    /// The external agent that makes the call; none = it runs here. Not part of the digest: its tool's name is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external: Option<ExternalCaller>,
}

impl PlanFacts {
    /// The directory that paths of the call are seen from: that of its external agent, else this one.
    pub fn workspace<'a>(&'a self, of_channel: &'a str) -> &'a str {
        let external = self.external.as_ref();
        external.map_or(of_channel, |external| external.directory.as_str())
    }

    /// What of the files that a command names is bound, and what is not; none = it names none.
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

/// A decision as it was recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Decision {
    /// What.
    pub decision: DecisionKind,
    /// How far.
    #[serde(default)]
    pub scope: Option<DecisionScope>,
    /// When the permission for the shape ends; none = with its turn or session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// Label of the actor.
    pub by: String,
    /// Where.
    pub surface: Surface,
    /// When.
    pub at: Timestamp,
    /// The reason given.
    #[serde(default)]
    pub reason: Option<String>,
    /// The answer to a question that a running call asked; of other answers the call has the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// The call does not start before then, and `revoke` takes the approval back; none = it starts at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts_at: Option<Timestamp>,
}

/// The first of two people who must allow a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FirstApproval {
    /// Name under `[people]`.
    pub person: String,
    /// Where.
    pub surface: Surface,
    /// When.
    pub at: Timestamp,
    /// The revision that they allowed; another one takes two people anew.
    pub revision: u32,
}

impl FirstApproval {
    /// How far it is, in words.
    pub fn in_words(&self) -> String {
        format!("1 of 2 people allow it: {}", self.person)
    }
}

/// What comes before a risk in a list of what two people must allow.
pub const RISK_ENTRY: &str = "risk:";

/// Whether a list of tools (`bash`, `mcp__files__*`) and risks (`risk:high`: this and any higher one) covers a call.
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

/// A message of the conversation before a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PriorMessage {
    /// Display name of who wrote it: outside text; none = the bot.
    pub sender: Option<String>,
    /// How it begins: outside text.
    pub text: String,
}

/// What happened to an earlier call of the same tool on the same channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SimilarCall {
    /// One-line preview of its arguments.
    pub preview: String,
    /// What the policy said.
    pub verdict: VerdictKind,
    /// What a person said, if asked.
    pub decision: Option<DecisionKind>,
    /// Who.
    pub by: Option<String>,
    /// When.
    pub at: Timestamp,
}

/// An approval with everything a card shows. Every field that quotes outside text must go through
/// `text::untrusted` before it reaches a screen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Approval {
    /// Id; the same across restarts.
    pub id: ApprovalId,
    /// Six letters and digits for `/approve CODE` and for confirming critical calls.
    pub short_code: String,
    /// What is asked.
    pub kind: ApprovalKind,
    /// Where it stands.
    pub state: ApprovalState,
    /// Lower-case hex SHA-256 over the full plan.
    pub digest: String,
    /// Starts at 1; rises with each edit and each return to pending.
    pub revision: u32,
    /// Tool name; empty when no tool is involved.
    pub tool: String,
    /// The arguments; whole, unless it is [`Approval::shortened`].
    pub args: serde_json::Value,
    /// What the call touches.
    pub access: Access,
    /// Its recovery class.
    pub effect: Effect,
    /// Its risk.
    pub risk: Risk,
    /// Why it has that risk, one reason a line.
    pub risk_reasons: Vec<String>,
    /// Which untrusted content is in context, one a line; empty = none.
    pub taint: Vec<String>,
    /// Diff, argv or text.
    pub preview: Preview,
    /// Where it would run.
    #[serde(default)]
    pub plan: PlanFacts,
    /// What the model gave as its reason: outside text.
    #[serde(default)]
    pub model_reason: Option<String>,
    /// Channel name.
    pub channel: String,
    /// Conversation key.
    pub conversation: String,
    /// Who asked.
    pub requester: Requester,
    /// Its session (none for pairing and policy items).
    pub session_id: Option<SessionId>,
    /// Its continuation.
    pub continuation_id: Option<ContinuationId>,
    /// Its tool call.
    pub tool_call_id: Option<ToolCallId>,
    /// Why it asks.
    pub verdict: Verdict,
    /// Decisions it accepts.
    pub offered: Vec<DecisionKind>,
    /// When it was asked.
    pub requested_at: Timestamp,
    /// When it expires.
    pub expires_at: Option<Timestamp>,
    /// The recorded decision.
    pub decision: Option<Decision>,
    /// What happened to the last five of this tool on this channel, newest first.
    #[serde(default)]
    pub similar: Vec<SimilarCall>,
    /// The last three messages that led to the call, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<PriorMessage>,
    /// A free-text line for kinds without a tool (what budget ran out, what the delivery was).
    #[serde(default)]
    pub question: Option<String>,
    /// Whether a card reached somebody; false = nobody was notified outside the console.
    #[serde(default)]
    pub notified: bool,
    /// How many times people were reminded of it in chats: the highest number of one person.
    #[serde(default, skip_serializing_if = "schema::is_default")]
    pub reminders: u32,
    /// Why the policy would never use a permission for the session: it asks about this call all the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub once_only: Option<String>,
    /// What is known of the call or delivery whose outcome is asked for (kinds `resolve_unknown` and `resend`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unknown: Option<Box<UnknownOutcome>>,
    /// Whom it waits for in particular, while it is pending; everybody who may decide it still can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assignment: Option<Box<Assignment>>,
    /// Who has allowed it as it is, where two people must.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_by: Option<Box<FirstApproval>>,
    /// Who heard of it because nobody decided, and who hears of it next; none = its channel has no escalation policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub escalation: Option<Box<Escalation>>,
    /// Whether the arguments or the preview are cut, as in lists, snapshots and events. The approval asked for by its
    /// id has them whole.
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

    /// Whether both ask about exactly the same: one id, revision and digest.
    pub fn asks_the_same(&self, other: &Self) -> bool {
        (self.id, self.revision) == (other.id, other.revision) && self.digest == other.digest
    }

    /// Takes the whole content from one that asks about the same.
    pub fn take_content(&mut self, whole: &Self) {
        self.args.clone_from(&whole.args);
        self.preview.clone_from(&whole.preview);
        self.shortened = whole.shortened;
    }

    /// Why no rule can let calls like it run, as far as the question tells: only one that denies is offered. None = one
    /// can. The policy may have changed since it was asked.
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

    /// What an answer to it says: the choice that it names by its number or in other case, else the answer itself.
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

    /// Why what it asks about cannot be rehearsed, as far as the question tells; none = it can.
    pub fn not_rehearsed(&self) -> Option<&'static str> {
        let sandbox = self.plan.sandbox.as_deref().unwrap_or_default();
        if self.kind != ApprovalKind::Execute || self.tool != COMMANDS {
            Some("only a command can be rehearsed")
        } else if self.state != ApprovalState::Pending {
            Some("it does not wait any more")
        } else if !sandbox.starts_with("bubblewrap") {
            Some("no sandbox is proved on the daemon's machine, so nothing is rehearsed there")
        } else {
            None
        }
    }

    /// Why it cannot be allowed for the session; none = it can.
    pub fn only_once(&self) -> Option<&str> {
        if self.kind != ApprovalKind::Execute || self.session_id.is_none() {
            Some("only calls have a shape")
        } else {
            only_once(self.risk, &self.taint, self.once_only.as_deref())
        }
    }
}

/// The answers that an approval of this kind, about a call with these arguments, offers; empty = none.
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

/// Why a call is allowed once and never for the session; none = a permission for the session can be given and used.
/// `always_asks` is the reason for which the policy asks each time.
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

/// What is known of something that was under way when its outcome was lost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnknownOutcome {
    /// When it began; none = that was not recorded.
    pub started_at: Option<Timestamp>,
    /// Which start or send it was, from 1.
    pub attempt: u32,
    /// Starts or sends there have been by now.
    pub attempts: u32,
    /// Epoch of the process that began it.
    pub epoch: u64,
    /// The idempotency key that went along, or would have where the other side takes one.
    pub key: String,
    /// What is known: the last word of the tool or the platform, or how the process ended. Outside text.
    pub known: Option<String>,
    /// The message, for deliveries.
    #[serde(default)]
    pub delivery: Option<UnknownDelivery>,
}

/// The message whose delivery is unknown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnknownDelivery {
    /// Its id.
    pub id: OutboxId,
    /// What it is for.
    pub class: OutboxClass,
    /// Part number from 1.
    pub part: u32,
    /// Number of parts.
    pub parts: u32,
    /// The whole text as it was being sent: outside text; empty for cards.
    pub text: String,
}
