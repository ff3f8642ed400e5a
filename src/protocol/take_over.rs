//! Taking a conversation over: a person writes as the bot while its agent is held.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::protocol::enums::Surface;
use crate::protocol::ids::TakeOverId;

/// Who holds a conversation. There is one at most, whatever happens to the session behind it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TakeOver {
    /// Changes whenever it is taken again: who writes names it, so that of two consoles one holds it.
    pub id: TakeOverId,
    /// Label of the person.
    pub by: String,
    /// The person's stable id.
    pub by_id: String,
    /// From where.
    pub surface: Surface,
    /// Since when.
    pub at: Timestamp,
}
