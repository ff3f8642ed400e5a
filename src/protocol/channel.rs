//! Channels: health, policy, and what a platform can do.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::protocol::enums::{Autonomy, ChannelKind, ChannelState};
use crate::protocol::policy::Policy;

/// Health of a channel's connection, judged by its exchanges and never by a running task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChannelHealth {
    /// State of the connection.
    pub state: ChannelState,
    /// The cause and the next step when the channel is not well; none = it is well.
    pub detail: Option<String>,
    /// When the platform last answered an exchange.
    pub last_exchange_at: Option<Timestamp>,
    /// When the last message came in.
    pub last_inbound_at: Option<Timestamp>,
    /// When the platform last accepted a message.
    pub last_outbound_at: Option<Timestamp>,
    /// How often the bridge connected again.
    pub reconnects: u32,
    /// The platform's rate limit holds until then; none = no limit is in force.
    pub rate_limited_until: Option<Timestamp>,
}

/// A channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Channel {
    /// Name in the configuration.
    pub name: String,
    /// Kind of the channel.
    pub kind: ChannelKind,
    /// The account on the platform (`@bot`); none = not known yet.
    pub account: Option<String>,
    /// The policy in force.
    pub policy: Policy,
    /// Whether calls ask in `full` too while untrusted content is in the context
    /// (`taint_guard_in_full`).
    #[serde(default = "yes")]
    pub taint_guard_in_full: bool,
    /// Names under `[people]` who alone decide its approvals; empty = everybody with that right.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approvers: Vec<String>,
    /// Tools and risks that two people must allow; empty = one person is enough.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub two_people: Vec<String>,
    /// Health of its connection.
    pub health: ChannelHealth,
    /// Whether an operator paused it.
    pub paused: bool,
    /// Absolute path of the directory in which its tools work, on the machine of the daemon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// Whether an emergency stop blocks its messages.
    #[serde(default)]
    pub held: bool,
    /// Outbox parts that are not sent yet.
    pub backlog: u32,
    /// Pending approvals.
    pub pending_approvals: u32,
    /// Active sessions.
    pub active_sessions: u32,
    /// Its drain: the channel starts no new work; none = it takes up work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draining: Option<ChannelDrain>,
    /// Conversations that people have taken over.
    #[serde(default)]
    pub taken_over: u32,
    /// Unknown senders who ask for access.
    #[serde(default)]
    pub asking: u32,
    /// People who got access by pairing.
    #[serde(default)]
    pub paired: u32,
}

/// The work left on a draining channel. It is drained when `running` and `waiting` are 0 and its
/// outbox is empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChannelDrain {
    /// When the drain began.
    pub since: Timestamp,
    /// Started turns that run, or go on by themselves.
    pub running: u32,
    /// Started turns that wait for a person.
    pub waiting: u32,
    /// Messages that wait until the channel takes up work again.
    pub held_back: u32,
}

/// The unit in which a platform counts the length of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LengthUnit {
    /// UTF-16 code units (Telegram).
    Utf16,
    /// Unicode scalar values (Discord, Slack).
    Chars,
    /// UTF-8 bytes (Matrix, IRC).
    Bytes,
}

/// How a platform helps against sending a message twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SendIdempotency {
    /// The platform drops a second send with the same key.
    NativeKey {
        /// Milliseconds that the platform remembers a key after the first send with it; none = for
        /// ever. State less than the platform promises, because a send that begins late in this
        /// time must still arrive in it.
        window_ms: Option<u64>,
    },
    /// The engine can ask whether a message arrived: the bridge answers `look_up`.
    Reconcile,
    /// Neither: an operator decides about a delivery with an unknown outcome.
    None,
}

/// What a platform can do. The engine splits text by it, and the bridge renders by it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChannelCapabilities {
    /// Longest message, in [`ChannelCapabilities::unit`].
    pub max_length: usize,
    /// The unit in which the platform counts length.
    pub unit: LengthUnit,
    /// Whether sent messages can be edited.
    pub edits: bool,
    /// Whether messages can carry buttons.
    pub buttons: bool,
    /// Whether the platform has a typing indicator.
    pub typing: bool,
    /// How the platform helps against sending a message twice.
    pub idempotency: SendIdempotency,
}

fn yes() -> bool {
    true
}

impl Channel {
    /// State of the channel in one word: its health, unless a pause, a drain or an emergency stop
    /// blocks it.
    pub fn state_word(&self) -> &'static str {
        match self.draining {
            _ if self.paused => ChannelState::Paused.as_str(),
            _ if self.held => "held",
            Some(_) => "draining",
            None => self.health.state.as_str(),
        }
    }

    /// An autonomy level of this channel, with the guard that is off: `full, no taint guard`.
    pub fn level_text(&self, level: Autonomy) -> String {
        if level == Autonomy::Full && !self.taint_guard_in_full {
            format!("{level}, no taint guard")
        } else {
            level.to_string()
        }
    }
}
