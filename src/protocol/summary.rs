//! Shift summary: what waits, what is unusual, and who did what.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::protocol::enums::{ApprovalKind, Autonomy};
use crate::protocol::ids::ApprovalId;
use crate::protocol::on_call::{Assignment, OnCall};
use crate::protocol::rule::{Grant, Rule};
use crate::protocol::take_over::TakeOver;

/// Summary of the time since a moment, from stored data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ShiftSummary {
    /// Start of the summary.
    pub since: Timestamp,
    /// End of the summary: when it was made.
    pub until: Timestamp,
    /// Pending approvals, oldest first, at most 100.
    pub pending: Vec<SummaryQuestion>,
    /// Number of further pending approvals.
    pub more_pending: u32,
    /// Conversations that people have taken over.
    pub taken_over: Vec<SummaryHold>,
    /// Channels that differ from their configuration: raised, paused or draining.
    pub channels: Vec<SummaryChannel>,
    /// Session and turn grants in force.
    pub grants: Vec<Grant>,
    /// Rules in force that expire.
    pub rules: Vec<Rule>,
    /// Calls that were refused because too many approvals waited, by channel.
    #[serde(default)]
    pub refused_calls: Vec<SummaryRefusal>,
    /// When the emergency stop was pressed, by whom and why; none = it is not in force.
    pub held: Option<(Timestamp, String)>,
    /// Who did what, most recent first.
    pub deeds: Vec<SummaryAction>,
    /// Spending by channel.
    pub spent: Vec<SummarySpent>,
    /// Who is on call; none = nobody.
    #[serde(default)]
    pub on_call: Option<OnCall>,
    /// Who was on call last, if their time is over and nobody followed.
    #[serde(default)]
    pub on_call_ended: Option<OnCall>,
    /// Assignments, most recent first, at most 50.
    #[serde(default)]
    pub assignments: Vec<SummaryAssignment>,
}

/// Refused calls of a channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SummaryRefusal {
    /// Channel name.
    pub channel: String,
    /// Number of calls.
    pub calls: u64,
    /// When the last one was refused.
    pub last_at: Timestamp,
}

/// An assignment of an approval, or a change of who is on call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SummaryAssignment {
    /// When it was made.
    pub at: Timestamp,
    /// Label of who made it, as in the audit.
    pub by: String,
    /// Short code of the approval; none = it changed who is on call.
    pub short_code: Option<String>,
    /// New assignee or person on call; none = nobody.
    pub to: Option<String>,
    /// Previous assignee or person on call; none = nobody.
    pub from: Option<String>,
    /// End of the on-call time.
    #[serde(default)]
    pub until: Option<Timestamp>,
    /// Note from who made it.
    pub note: Option<String>,
}

/// A pending approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SummaryQuestion {
    /// Approval id.
    pub id: ApprovalId,
    /// Short code for people.
    pub short_code: String,
    /// What kind of question it is.
    pub kind: ApprovalKind,
    /// Tool name; none = it is about no call.
    pub tool: Option<String>,
    /// Channel name.
    pub channel: String,
    /// Who asked for the turn: untrusted text.
    pub requester: String,
    /// When the engine asked.
    pub requested_at: Timestamp,
    /// When it expires; none = it has no deadline.
    pub expires_at: Option<Timestamp>,
    /// Who has snoozed it, and until when.
    pub snoozed: Vec<(String, Timestamp)>,
    /// Its assignment; none = it is not assigned.
    #[serde(default)]
    pub assignment: Option<Assignment>,
}

/// A conversation that a person has taken over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SummaryHold {
    /// Channel name.
    pub channel: String,
    /// Conversation key: untrusted text.
    pub conversation: String,
    /// Who took it over, and when.
    pub held: TakeOver,
}

/// A channel that differs from its configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SummaryChannel {
    /// Channel name.
    pub name: String,
    /// Autonomy level in force.
    pub autonomy: Autonomy,
    /// Autonomy level of the configuration.
    pub configured: Autonomy,
    /// When the level in force ends; none = never.
    pub expires_at: Option<Timestamp>,
    /// The level after that.
    pub reverts_to: Option<Autonomy>,
    /// Whether it is paused.
    pub paused: bool,
    /// When its drain began; none = it is not draining.
    pub draining_since: Option<Timestamp>,
}

/// Actions of one kind by one person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SummaryAction {
    /// Label of the person, as in the audit.
    pub actor: String,
    /// The action in the word of the audit, with the decision if it was one.
    pub action: String,
    /// Number of times.
    pub count: u64,
    /// When it last happened.
    pub last_at: Timestamp,
}

/// Spending of model calls on a channel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SummarySpent {
    /// Channel name.
    pub channel: String,
    /// Number of model calls.
    pub calls: u64,
    /// Input plus output tokens.
    pub tokens: u64,
    /// US dollars of the calls with a known price.
    pub cost_usd: f64,
    /// Tokens of the calls without a known price.
    pub unpriced_tokens: u64,
}
