//! What tools did to files, and whether it was undone.
//!
//! Paths are the agent's: outside text, to be revealed before they are shown.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::protocol::enums::ToolCallState;
use crate::protocol::ids::{SessionId, ToolCallId};

/// The tools whose changes of files are kept and can be undone.
pub const FILE_TOOLS: [&str; 4] = ["edit_file", "apply_patch", "move_file", "delete_file"];

/// What became of one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileFate {
    /// It was not there before.
    Created,
    /// It held something else before.
    Changed,
    /// It is not there any more.
    Deleted,
}

impl FileFate {
    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Changed => "changed",
            Self::Deleted => "deleted",
        }
    }
}

/// One file of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileOfChange {
    /// Path below the workspace.
    pub path: String,
    /// What became of it. A file that moved is deleted in one place and created in another.
    pub fate: FileFate,
}

/// What one call did to files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileChange {
    /// The call.
    pub tool_call_id: ToolCallId,
    /// Its session.
    pub session_id: SessionId,
    /// The tool.
    pub tool: String,
    /// When it happened.
    pub at: Timestamp,
    /// Absolute path of the workspace.
    pub workspace: String,
    /// The files.
    pub files: Vec<FileOfChange>,
    /// When it was undone; none = it was not.
    #[serde(default)]
    pub undone_at: Option<Timestamp>,
}

/// Where the difference of a past call comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DiffSource {
    /// Its approval: what a person was shown, and allowed.
    Approval,
    /// The files that are kept to undo it.
    KeptFiles,
    /// Its arguments: what stood in the files before is not known.
    Arguments,
}

impl DiffSource {
    /// In words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Approval => "as it was allowed",
            Self::KeptFiles => "from the files that are kept",
            Self::Arguments => "from the arguments of the call",
        }
    }
}

/// What one call did to the files of its workspace, as far as the record holds it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallDiff {
    /// The call.
    pub tool_call_id: ToolCallId,
    /// The tool.
    pub tool: String,
    /// Where it stands.
    pub state: ToolCallState,
    /// Where the difference comes from; none = there is none.
    pub source: Option<DiffSource>,
    /// Unified diffs, one file after the other: outside text. Empty = none is known.
    pub unified: String,
    /// What the record does not hold: sentences.
    pub missing: Vec<String>,
    /// Whether it was undone later.
    pub undone: bool,
}
