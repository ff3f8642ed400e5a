//! Taking a conversation over: a person writes as the bot while its agent is held.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::protocol::ids::{SessionId, TakeOverId};
use crate::protocol::words::Surface;

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

/// What can be done with a conversation. The session names it; a later session of the same conversation stays taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum TakeOverCommand {
    /// Holds its agent. Somebody who holds it already takes it along to where they are now.
    Take {
        /// Which session.
        session_id: SessionId,
        /// Even from somebody else.
        #[serde(default)]
        force: bool,
    },
    /// Writes as the bot. Messages that waited have been answered with it.
    Say {
        /// Which session.
        session_id: SessionId,
        /// As it was taken.
        take_over_id: TakeOverId,
        /// Markdown, at most 256 KiB.
        text: String,
    },
    /// Gives it back: the agent answers what came in since the last word.
    GiveBack {
        /// Which session.
        session_id: SessionId,
        /// Even somebody else's.
        #[serde(default)]
        force: bool,
    },
}
