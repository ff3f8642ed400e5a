//! Leftovers: files that runs of programs left in places from which git, editors, shells and agents
//! run programs.
//!
//! The programs chose paths and names: untrusted text, which screens must reveal.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::protocol::ids::{ContinuationId, SessionId, ToolCallId};

/// Most places that one call lists.
pub const MOST_NAMED: usize = 100;

/// A place that the engine renamed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SetAside {
    /// Original path relative to the workspace.
    pub path: String,
    /// New name in the same directory.
    pub name: String,
}

/// A place that the engine could not rename.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BlockedRename {
    /// Path relative to the workspace.
    pub path: String,
    /// Why the engine could not rename it.
    pub problem: String,
}

/// Places that are new after a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NewPlaces {
    /// Renamed places, at most [`MOST_NAMED`].
    pub set_aside: Vec<SetAside>,
    /// Places that could not be renamed, at most [`MOST_NAMED`].
    pub in_place: Vec<BlockedRename>,
    /// Number of further renamed places.
    pub more: u64,
    /// Why the search was incomplete; none = it was complete.
    pub incomplete: Option<String>,
    /// Whether the process died during the run, so that the next start found the places.
    pub interrupted: bool,
}

impl NewPlaces {
    /// Whether there is nothing to report.
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

/// The places that one call left, until a person dismisses them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Leftovers {
    /// Id of the call.
    pub tool_call_id: ToolCallId,
    /// Session of the call.
    pub session_id: SessionId,
    /// Continuation (turn) of the call.
    pub continuation_id: ContinuationId,
    /// Channel name.
    pub channel: String,
    /// Conversation key.
    pub conversation: String,
    /// Tool name.
    pub tool: String,
    /// The arguments in one line: untrusted text.
    pub preview: String,
    /// Absolute path of the workspace.
    pub workspace: String,
    /// The new places.
    #[serde(flatten)]
    pub new: NewPlaces,
    /// When the engine found them.
    pub found_at: Timestamp,
    /// When a person dismissed them; none = they wait for one.
    pub dismissed_at: Option<Timestamp>,
    /// Label of who dismissed them.
    pub by: Option<String>,
}
