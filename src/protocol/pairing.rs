//! Unknown senders and their access to channels.
//!
//! The display name is untrusted text, which screens must reveal.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::protocol::enums::PairingState;
use crate::protocol::ids::ApprovalId;

/// The newest request for access of a sender on one channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pairing {
    /// Id of the approval that asks about them.
    pub id: ApprovalId,
    /// Channel name.
    pub channel: String,
    /// Stable id of the sender: `telegram:123456`.
    pub sender: String,
    /// Display name on the platform: untrusted text.
    pub display: String,
    /// The code that the bot sent them.
    pub code: String,
    /// State of the request.
    pub state: PairingState,
    /// When they asked.
    pub asked_at: Timestamp,
    /// When the code expires.
    pub expires_at: Timestamp,
    /// When the request got its state; none = it is pending.
    pub decided_at: Option<Timestamp>,
    /// Label of who decided; none = nobody decided.
    pub by: Option<String>,
}
