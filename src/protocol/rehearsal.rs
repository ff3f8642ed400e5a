//! Rehearsals: a pending command, run in a throw-away copy of its workspace.
//!
//! A rehearsal does not run the call and decides nothing; the approval stays as it was. Output,
//! paths, notes and diffs come from the program: untrusted text, which screens must reveal.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::protocol::file_change::FileFate;
use crate::protocol::ids::ApprovalId;

/// Heading of every result, on every surface.
pub const HEADING: &str = "REHEARSAL, not a run of the call";

/// How a rehearsal ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RehearsalEnd {
    /// The program ended by itself.
    Exited,
    /// The engine killed it because it took too long.
    TimedOut,
    /// The engine killed it because it used too much memory, too many processes or too much disk.
    OverLimit,
    /// The caller gave up, or an emergency stop ended it.
    Cancelled,
    /// It did not start.
    NotStarted,
}

/// A file that the command would add, change or delete.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RehearsedFile {
    /// Path relative to the workspace: untrusted text.
    pub path: String,
    /// What would happen to it.
    pub fate: FileFate,
    /// Size in bytes afterwards; none = it would not exist, or is no regular file.
    pub bytes: Option<u64>,
    /// Changes that no text diff shows, such as `a link to b`: untrusted text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Unified diff of a small text file: untrusted text; none = the file is not text, or too
    /// large.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
}

/// Result of a rehearsal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Rehearsal {
    /// The approval, which is still pending.
    pub approval_id: ApprovalId,
    /// Revision of the approval when the rehearsal began.
    pub revision: u32,
    /// Digest of the approval at that time: the result is about exactly this plan.
    pub digest: String,
    /// Label of who started it.
    pub by: String,
    /// When it began.
    pub at: Timestamp,
    /// How it ended.
    pub ended: RehearsalEnd,
    /// The end in words: `exit status 0 after 0.1 s`.
    pub outcome: String,
    /// Exit status; none = the program did not end by itself, or has none.
    pub exit_status: Option<i32>,
    /// How long the program ran, in milliseconds.
    pub duration_ms: u64,
    /// Beginning and end of the output: untrusted text.
    pub output: String,
    /// Changes to files, in order of their paths; at most 200.
    pub files: Vec<RehearsedFile>,
    /// Number of further files.
    pub more_files: u64,
    /// Why the list of files may be incomplete; none = it is complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incomplete: Option<String>,
    /// Sandbox of the rehearsal: `bubblewrap: a copy of the workspace, no network`.
    pub sandbox: String,
}

impl Rehearsal {
    /// Changes to files in a few words: `1 created, 2 changed`.
    pub fn files_in_words(&self) -> String {
        let counted: Vec<String> = [FileFate::Created, FileFate::Changed, FileFate::Deleted]
            .into_iter()
            .filter_map(|fate| {
                let count = self.files.iter().filter(|file| file.fate == fate).count();
                (count > 0).then(|| format!("{count} {}", fate.as_str()))
            })
            .collect();
        match (counted.is_empty(), self.more_files) {
            (true, 0) => "no file would change".to_owned(),
            (_, 0) => format!("files: {}", counted.join(", ")),
            (_, more) => format!("files: {}, {more} more", counted.join(", ")),
        }
    }
}
