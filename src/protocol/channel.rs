//! Channels: health, policy, and what a platform can do.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::protocol::enums::{Autonomy, ChannelKind, ChannelState};
use crate::protocol::policy::Policy;

/// Health by exchanges, never "a task exists".
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChannelHealth {
    /// The state in one word.
    pub state: ChannelState,
    /// Why, and what to do, when it is not well.
    pub detail: Option<String>,
    /// Last exchange that the platform answered.
    pub last_exchange_at: Option<Timestamp>,
    /// Last inbound message.
    pub last_inbound_at: Option<Timestamp>,
    /// Last accepted outbound message.
    pub last_outbound_at: Option<Timestamp>,
    /// Times the connection was made again.
    pub reconnects: u32,
    /// The platform asked us to wait until then.
    pub rate_limited_until: Option<Timestamp>,
}

/// A channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Channel {
    /// Configured name.
    pub name: String,
    /// Kind.
    pub kind: ChannelKind,
    /// The account on the platform (`@bot`), once known.
    pub account: Option<String>,
    /// Policy in force.
    pub policy: Policy,
    /// Whether untrusted content in context makes calls ask in `full` too (`taint_guard_in_full`).
    #[serde(default = "yes")]
    pub taint_guard_in_full: bool,
    /// Names under `[people]` who alone decide what it asks; empty = whoever may decide.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approvers: Vec<String>,
    /// Tools and risks that two people must allow; empty = one is enough.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub two_people: Vec<String>,
    /// Health.
    pub health: ChannelHealth,
    /// Paused by an operator.
    pub paused: bool,
    /// Absolute path of the directory in which its tools work, on the machine of the daemon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// An emergency stop holds what it would send.
    #[serde(default)]
    pub held: bool,
    /// Outbox parts not yet sent.
    pub backlog: u32,
    /// Approvals that wait.
    pub pending_approvals: u32,
    /// Sessions that are active.
    pub active_sessions: u32,
    /// Takes up nothing new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draining: Option<ChannelDrain>,
    /// Conversations that people hold in place of the agent.
    #[serde(default)]
    pub taken_over: u32,
    /// Unknown senders who ask for access.
    #[serde(default)]
    pub asking: u32,
    /// People with access by pairing.
    #[serde(default)]
    pub paired: u32,
}

/// What a channel that takes up nothing new still has to do. Nothing left of the first three: it is drained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChannelDrain {
    /// Since when.
    pub since: Timestamp,
    /// Turns that were begun and run, or will by themselves.
    pub running: u32,
    /// Turns that were begun and wait for a person.
    pub waiting: u32,
    /// Messages that wait until it takes up work again.
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

/// What a platform offers against doubled sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SendIdempotency {
    /// The platform drops a second send with the same key.
    NativeKey {
        /// Milliseconds it remembers a key after the first send with it; none = for ever. A send that begins late in
        /// it must still arrive in time, so say less than the platform promises.
        window_ms: Option<u64>,
    },
    /// We can look whether it arrived: the bridge answers `look_up`.
    Reconcile,
    /// Neither: an unknown send goes to the operator.
    None,
}

/// What a platform can do. Plain data; the engine splits text by it, the adapter renders by it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChannelCapabilities {
    /// Longest message, in [`ChannelCapabilities::unit`].
    pub max_length: usize,
    /// How it is counted.
    pub unit: LengthUnit,
    /// Sent messages can be edited.
    pub edits: bool,
    /// Messages can carry buttons.
    pub buttons: bool,
    /// A typing indicator exists.
    pub typing: bool,
    /// Against doubled sends.
    pub idempotency: SendIdempotency,
}

fn yes() -> bool {
    true
}

impl Channel {
    /// How it stands, in one word: its health, unless somebody or an emergency stop holds it.
    pub fn state_word(&self) -> &'static str {
        match self.draining {
            _ if self.paused => ChannelState::Paused.as_str(),
            _ if self.held => "held",
            Some(_) => "draining",
            None => self.health.state.as_str(),
        }
    }

    /// A level of this channel, with the guard that it goes without: `full, no taint guard`.
    pub fn level_text(&self, level: Autonomy) -> String {
        if level == Autonomy::Full && !self.taint_guard_in_full {
            format!("{level}, no taint guard")
        } else {
            level.to_string()
        }
    }
}
