//! Changes that tools made to files, and their undo.
//!
//! The agent chose the paths: untrusted text, which screens must reveal.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::protocol::enums::ToolCallState;
use crate::protocol::ids::{SessionId, ToolCallId};

/// The tools whose file changes are stored and can be undone.
pub const FILE_TOOLS: [&str; 4] = ["edit_file", "apply_patch", "move_file", "delete_file"];

/// What happened to one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileFate {
    /// It did not exist before.
    Created,
    /// Its content changed.
    Changed,
    /// It no longer exists.
    Deleted,
}

impl FileFate {
    /// The word for it.
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
    /// Path relative to the workspace.
    pub path: String,
    /// What happened to it. A moved file is deleted in one place and created in another.
    pub fate: FileFate,
}

/// The changes that one call made to files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileChange {
    /// Id of the call.
    pub tool_call_id: ToolCallId,
    /// Session of the call.
    pub session_id: SessionId,
    /// Tool name.
    pub tool: String,
    /// When the change happened.
    pub at: Timestamp,
    /// Absolute path of the workspace.
    pub workspace: String,
    /// The changed files.
    pub files: Vec<FileOfChange>,
    /// When it was undone; none = it was not undone.
    #[serde(default)]
    pub undone_at: Option<Timestamp>,
}

/// Source of the diff of an earlier call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DiffSource {
    /// The approval: what a person saw and allowed.
    Approval,
    /// The files that are stored for an undo.
    KeptFiles,
    /// The arguments: the previous content of the files is unknown.
    Arguments,
}

impl DiffSource {
    /// The source in words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Approval => "as it was allowed",
            Self::KeptFiles => "from the files that are kept",
            Self::Arguments => "from the arguments of the call",
        }
    }
}

/// The changes of one call to the files of its workspace, as far as they are recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallDiff {
    /// Id of the call.
    pub tool_call_id: ToolCallId,
    /// Tool name.
    pub tool: String,
    /// State of the call.
    pub state: ToolCallState,
    /// Source of the diff; none = there is no diff.
    pub source: Option<DiffSource>,
    /// Unified diffs, one file after the other: untrusted text. Empty = no diff is known.
    pub unified: String,
    /// What is not recorded, in sentences.
    pub missing: Vec<String>,
    /// Whether the change was undone later.
    pub undone: bool,
}
