//! Changes a channel's policy.

use crate::clock::Timestamp;
use crate::protocol::words::Autonomy;
use crate::store::input::ActorRef;

/// A policy change. Durable; answers the policy now in force. Absent fields stay.
#[derive(Debug, Clone)]
pub struct SetPolicy {
    /// Channel name.
    pub channel: String,
    /// New level.
    pub autonomy: Option<Autonomy>,
    /// When the new level ends and the one before it returns; none = permanent.
    pub expires_at: Option<Timestamp>,
    /// New list.
    pub auto_approve: Option<Vec<String>>,
    /// New list.
    pub block: Option<Vec<String>>,
    /// New list.
    pub always_ask: Option<Vec<String>>,
    /// Only when the policy still has this version.
    pub if_version: Option<u64>,
    /// Who.
    pub by: ActorRef,
}
