//! Waiting work and unknown outcomes, for a review before the release of an emergency stop or a
//! quarantine.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::protocol::command::Waiting;
use crate::protocol::enums::{ApprovalKind, ContinuationState, Effect, Risk, ToolCallState};
use crate::protocol::ids::{ApprovalId, ContinuationId, SessionId, ToolCallId};
use crate::protocol::session::OutboxItem;

/// What a release does with the waiting turns of one conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConversationChoice {
    /// Session of the conversation.
    pub session_id: SessionId,
    /// What to do with its turns.
    pub waiting: Waiting,
}

/// A waiting turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WaitingTurn {
    /// Continuation id.
    pub continuation_id: ContinuationId,
    /// State: pending or interrupted.
    pub state: ContinuationState,
    /// First line of the message, at most 200 characters: untrusted text.
    pub text: String,
    /// When the engine accepted it.
    pub created_at: Timestamp,
}

/// A conversation with waiting turns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WaitingConversation {
    /// Session of the conversation.
    pub session_id: SessionId,
    /// Channel name.
    pub channel: String,
    /// Conversation key.
    pub conversation: String,
    /// Title: untrusted text.
    pub title: Option<String>,
    /// Waiting turns, oldest first; never empty.
    pub turns: Vec<WaitingTurn>,
}

/// A call whose outcome is unknown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UncertainCall {
    /// Tool call id.
    pub id: ToolCallId,
    /// Continuation of the call.
    pub continuation_id: ContinuationId,
    /// Tool name: untrusted text.
    pub name: String,
    /// The arguments in one line: untrusted text.
    pub preview: String,
    /// What recovery may assume about the call.
    pub effect: Effect,
    /// State of the call.
    pub state: ToolCallState,
    /// When its last run began; none = it never ran here.
    pub started_at: Option<Timestamp>,
}

/// A pending approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OpenQuestion {
    /// Approval id.
    pub id: ApprovalId,
    /// Short code: six letters and digits.
    pub short_code: String,
    /// What kind of question it is.
    pub kind: ApprovalKind,
    /// Channel name.
    pub channel: String,
    /// Tool name, or what it is about: untrusted text.
    pub tool: String,
    /// How much harm the call can do.
    pub risk: Risk,
    /// When the engine asked.
    pub requested_at: Timestamp,
}

/// Totals, including items beyond the lists.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UncertainTotals {
    /// Number of waiting turns.
    pub turns: u64,
    /// Number of calls with an unknown outcome.
    pub calls: u64,
    /// Number of deliveries with an unknown outcome.
    pub deliveries: u64,
    /// Number of pending approvals.
    pub questions: u64,
}

/// Waiting work and unknown outcomes. Each list contains the newest 200.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Uncertain {
    /// When the list was made.
    pub at: Timestamp,
    /// Whether the database is a restored copy that waits for a release.
    pub quarantine: bool,
    /// When the emergency stop or quarantine began; none = neither is in force.
    pub held_since: Option<Timestamp>,
    /// When the engine accepted the oldest waiting turn.
    pub oldest_at: Option<Timestamp>,
    /// Totals of each kind.
    pub totals: UncertainTotals,
    /// Waiting turns by conversation.
    pub conversations: Vec<WaitingConversation>,
    /// Calls with an unknown outcome.
    pub calls: Vec<UncertainCall>,
    /// Messages with an unknown delivery.
    pub deliveries: Vec<OutboxItem>,
    /// Pending approvals.
    pub questions: Vec<OpenQuestion>,
}

/// Age after which a release must say what happens to waiting turns: 15 minutes, in milliseconds.
pub const RELEASE_ASKS_AFTER_MS: u64 = 15 * 60 * 1000;

impl Uncertain {
    /// Whether a release must say what happens to what waited: something waits, and it is old or the database is a
    /// restored copy.
    pub fn asks(&self) -> bool {
        self.oldest_at.is_some_and(|oldest| {
            self.quarantine || self.at.millis_since(oldest) >= RELEASE_ASKS_AFTER_MS
        })
    }
}
