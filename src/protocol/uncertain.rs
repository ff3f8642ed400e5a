//! What waits, and what nobody knows: shown before an emergency stop or a quarantine is released.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::protocol::command::Waiting;
use crate::protocol::enums::{ApprovalKind, ContinuationState, Effect, Risk, ToolCallState};
use crate::protocol::ids::{ApprovalId, ContinuationId, SessionId, ToolCallId};
use crate::protocol::session::OutboxItem;

/// What to do with what waited in one conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConversationChoice {
    /// Its session.
    pub session_id: SessionId,
    /// What.
    pub waiting: Waiting,
}

/// A turn that waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WaitingTurn {
    /// Its id.
    pub continuation_id: ContinuationId,
    /// Pending or interrupted.
    pub state: ContinuationState,
    /// First line of the request, at most 200 characters: outside text.
    pub text: String,
    /// When it was accepted.
    pub created_at: Timestamp,
}

/// A conversation in which something waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WaitingConversation {
    /// Its session.
    pub session_id: SessionId,
    /// Channel name.
    pub channel: String,
    /// Conversation key.
    pub conversation: String,
    /// Title: outside text.
    pub title: Option<String>,
    /// What waits, oldest first; never empty.
    pub turns: Vec<WaitingTurn>,
}

/// A call whose outcome nobody knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UncertainCall {
    /// Its id.
    pub id: ToolCallId,
    /// Its continuation.
    pub continuation_id: ContinuationId,
    /// Tool name: outside text.
    pub name: String,
    /// One line of its arguments: outside text.
    pub preview: String,
    /// Recovery class.
    pub effect: Effect,
    /// Where it stands.
    pub state: ToolCallState,
    /// When its last run began; none = it never did here.
    pub started_at: Option<Timestamp>,
}

/// A question that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OpenQuestion {
    /// Its id.
    pub id: ApprovalId,
    /// Six letters and digits.
    pub short_code: String,
    /// What is asked.
    pub kind: ApprovalKind,
    /// Channel name.
    pub channel: String,
    /// Tool name, or what it is about: outside text.
    pub tool: String,
    /// Risk.
    pub risk: Risk,
    /// When it was asked.
    pub requested_at: Timestamp,
}

/// How many there are of each, also beyond what is listed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UncertainTotals {
    /// Turns that wait.
    pub turns: u64,
    /// Calls.
    pub calls: u64,
    /// Deliveries.
    pub deliveries: u64,
    /// Questions.
    pub questions: u64,
}

/// What waits, and what nobody knows. Each list holds the newest 200.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Uncertain {
    /// When it was looked at.
    pub at: Timestamp,
    /// Whether the database is a restored copy that waits for release.
    pub quarantine: bool,
    /// Since when an emergency stop (or the quarantine) holds everything; none = not held.
    pub held_since: Option<Timestamp>,
    /// When the oldest turn that waits was accepted.
    pub oldest_at: Option<Timestamp>,
    /// How many of each.
    pub totals: UncertainTotals,
    /// Turns that wait, by conversation.
    pub conversations: Vec<WaitingConversation>,
    /// Calls whose outcome nobody knows.
    pub calls: Vec<UncertainCall>,
    /// Messages of which nobody knows whether they arrived.
    pub deliveries: Vec<OutboxItem>,
    /// Questions that wait for a person.
    pub questions: Vec<OpenQuestion>,
}

/// What waited longer than this is not let go without a word: 15 minutes, in milliseconds.
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
