//! People who write to a channel without being on its list, and whether they have access.
//!
//! Outside text is only in the display name and must be revealed before it is shown.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::protocol::enums::PairingState;
use crate::protocol::ids::ApprovalId;

/// Somebody who asked for access on one channel: their newest asking.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pairing {
    /// The question about them.
    pub id: ApprovalId,
    /// Channel name.
    pub channel: String,
    /// Their stable id: `telegram:123456`.
    pub sender: String,
    /// Their name on the platform: outside text.
    pub display: String,
    /// The code they were told.
    pub code: String,
    /// What became of it.
    pub state: PairingState,
    /// When they asked.
    pub asked_at: Timestamp,
    /// The code is good until then.
    pub expires_at: Timestamp,
    /// When that became of it.
    pub decided_at: Option<Timestamp>,
    /// Label of who decided; none = nobody in time.
    pub by: Option<String>,
}
