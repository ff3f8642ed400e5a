//! What runs of programs left in places from which git, editors, shells and agents run programs.
//!
//! Paths and names are the program's: outside text, to be revealed before they are shown.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::protocol::ids::{ContinuationId, SessionId, ToolCallId};

/// Most places that are named of one call.
pub const MOST_NAMED: usize = 100;

/// A place that has another name now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SetAside {
    /// Path below the workspace where it was.
    pub path: String,
    /// Its name now, in the same directory.
    pub name: String,
}

/// A place that is still there and should not be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BlockedRename {
    /// Path below the workspace.
    pub path: String,
    /// Why it could not be renamed.
    pub problem: String,
}

/// Places that are new after a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NewPlaces {
    /// What was renamed, at most [`MOST_NAMED`].
    pub set_aside: Vec<SetAside>,
    /// What could not be renamed, at most [`MOST_NAMED`].
    pub in_place: Vec<BlockedRename>,
    /// How many more were renamed, beyond what is listed.
    pub more: u64,
    /// Why not everything was looked at; none = everything was.
    pub incomplete: Option<String>,
    /// Whether the process died during the run, so that this was only found at the next start.
    pub interrupted: bool,
}

impl NewPlaces {
    /// Whether there is nothing to tell.
    pub fn is_empty(&self) -> bool {
        self.set_aside.is_empty() && self.in_place.is_empty() && self.incomplete.is_none()
    }

    /// Both together, the older first.
    #[must_use]
    pub fn and(mut self, newer: Self) -> Self {
        self.set_aside.extend(newer.set_aside);
        self.in_place.extend(newer.in_place);
        self.more += newer.more + self.set_aside.len().saturating_sub(MOST_NAMED) as u64;
        self.set_aside.truncate(MOST_NAMED);
        self.in_place.truncate(MOST_NAMED);
        self.incomplete = newer.incomplete.or(self.incomplete);
        self.interrupted |= newer.interrupted;
        self
    }
}

/// What one call left, until a person dismisses it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Leftovers {
    /// The call.
    pub tool_call_id: ToolCallId,
    /// Its session.
    pub session_id: SessionId,
    /// Its continuation.
    pub continuation_id: ContinuationId,
    /// Channel name.
    pub channel: String,
    /// Conversation key.
    pub conversation: String,
    /// Tool name.
    pub tool: String,
    /// One line of its arguments: outside text.
    pub preview: String,
    /// Absolute path of the workspace.
    pub workspace: String,
    /// What is new there.
    #[serde(flatten)]
    pub new: NewPlaces,
    /// When it was found.
    pub found_at: Timestamp,
    /// When a person dismissed it; none = it waits for one.
    pub dismissed_at: Option<Timestamp>,
    /// Label of that person.
    pub by: Option<String>,
}
