//! What somebody who takes over a shift must know: what waits, what is out of the ordinary, who did what.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::protocol::enums::{ApprovalKind, Autonomy};
use crate::protocol::ids::ApprovalId;
use crate::protocol::on_call::{Assignment, OnCall};
use crate::protocol::rule::{Grant, Rule};
use crate::protocol::take_over::TakeOver;

/// A summary of everything since a time, from what is stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ShiftSummary {
    /// From.
    pub since: Timestamp,
    /// To: when it was made.
    pub until: Timestamp,
    /// Questions that wait, oldest first, at most 100.
    pub pending: Vec<SummaryQuestion>,
    /// Questions beyond those.
    pub more_pending: u32,
    /// Conversations that people hold.
    pub taken_over: Vec<SummaryHold>,
    /// Channels that are not as configured: raised, paused or draining.
    pub channels: Vec<SummaryChannel>,
    /// Permissions for shapes in force.
    pub grants: Vec<Grant>,
    /// Rules in force that end by themselves.
    pub rules: Vec<Rule>,
    /// Calls that were refused because too many approvals waited, by channel.
    #[serde(default)]
    pub refused_calls: Vec<SummaryRefusal>,
    /// Since when, by whom and why everything is held.
    pub held: Option<(Timestamp, String)>,
    /// Who did what, most recent first.
    pub deeds: Vec<SummaryAction>,
    /// What was spent, by channel.
    pub spent: Vec<SummarySpent>,
    /// Who is on call.
    #[serde(default)]
    pub on_call: Option<OnCall>,
    /// Who was on call last, where nobody is because their time is over.
    #[serde(default)]
    pub on_call_ended: Option<OnCall>,
    /// What was assigned, most recent first, at most 50.
    #[serde(default)]
    pub assignments: Vec<SummaryAssignment>,
}

/// Calls that nobody was asked about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SummaryRefusal {
    /// Channel name.
    pub channel: String,
    /// How many calls.
    pub calls: u64,
    /// The last time.
    pub last_at: Timestamp,
}

/// A question that was assigned, or a change of who is on call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SummaryAssignment {
    /// When.
    pub at: Timestamp,
    /// Who did it, as the audit names them.
    pub by: String,
    /// The short code of the question; none = who is on call.
    pub short_code: Option<String>,
    /// To whom; none = nobody.
    pub to: Option<String>,
    /// From whom.
    pub from: Option<String>,
    /// Until when (on call).
    #[serde(default)]
    pub until: Option<Timestamp>,
    /// What was written to it.
    pub note: Option<String>,
}

/// A question that waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SummaryQuestion {
    /// Which.
    pub id: ApprovalId,
    /// As people name it.
    pub short_code: String,
    /// What kind.
    pub kind: ApprovalKind,
    /// Tool, where it is about a call.
    pub tool: Option<String>,
    /// Channel name.
    pub channel: String,
    /// Who asked: outside text.
    pub requester: String,
    /// Since when.
    pub requested_at: Timestamp,
    /// Until when.
    pub expires_at: Option<Timestamp>,
    /// Who does not want to see it until when.
    pub snoozed: Vec<(String, Timestamp)>,
    /// Whom it waits for in particular.
    #[serde(default)]
    pub assignment: Option<Assignment>,
}

/// A conversation that a person holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SummaryHold {
    /// Channel name.
    pub channel: String,
    /// Conversation key: outside text.
    pub conversation: String,
    /// Who, since when.
    pub held: TakeOver,
}

/// A channel that is not as configured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SummaryChannel {
    /// Name.
    pub name: String,
    /// Its level.
    pub autonomy: Autonomy,
    /// The level of the configuration.
    pub configured: Autonomy,
    /// When the level ends.
    pub expires_at: Option<Timestamp>,
    /// The level after that.
    pub reverts_to: Option<Autonomy>,
    /// Paused.
    pub paused: bool,
    /// Since when it takes up nothing new.
    pub draining_since: Option<Timestamp>,
}

/// Something that somebody did, and how often.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SummaryAction {
    /// Who, as the audit names them.
    pub actor: String,
    /// What: the audit's word, with the decision where it was one.
    pub action: String,
    /// How often.
    pub count: u64,
    /// The last time.
    pub last_at: Timestamp,
}

/// What model calls on a channel used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SummarySpent {
    /// Channel name.
    pub channel: String,
    /// Calls.
    pub calls: u64,
    /// Input and output tokens.
    pub tokens: u64,
    /// US dollars of calls whose price is known.
    pub cost_usd: f64,
    /// Tokens of calls whose price is not known.
    pub unpriced_tokens: u64,
}
