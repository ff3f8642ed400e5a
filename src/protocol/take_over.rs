//! Taking a conversation over: a person writes as the bot while its agent pauses.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::protocol::enums::Surface;
use crate::protocol::ids::TakeOverId;

/// Who has taken a conversation over. At most one person has it, whatever happens to its session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TakeOver {
    /// Id of this take-over. A new take-over changes it, so only the console with the newest id can
    /// write.
    pub id: TakeOverId,
    /// Label of the person.
    pub by: String,
    /// The person's stable id.
    pub by_id: String,
    /// Surface of the person.
    pub surface: Surface,
    /// When they took it over.
    pub at: Timestamp,
}
