//! A rehearsal: a command that waits for a decision, run in a throw-away copy of its workspace.
//!
//! It is no run of the call: it decides nothing, and the approval stays as it was. Output, paths, notes and differences
//! are the program's: outside text, to be revealed before they are shown.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::protocol::file_change::FileFate;
use crate::protocol::ids::ApprovalId;

/// What stands above every result, on every surface.
pub const HEADING: &str = "REHEARSAL, not a run of the call";

/// How a rehearsal ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RehearsalEnd {
    /// The program ended by itself.
    Exited,
    /// It was killed because it took too long.
    TimedOut,
    /// It was killed because it took more memory, processes or disk than it may.
    OverLimit,
    /// Somebody gave up, or everything was stopped.
    Cancelled,
    /// It did not start.
    NotStarted,
}

/// One file that the command would add, change or delete.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RehearsedFile {
    /// Path below the workspace: outside text.
    pub path: String,
    /// What would become of it.
    pub fate: FileFate,
    /// Bytes that it would have; none = it would not be there, or is no file.
    pub bytes: Option<u64>,
    /// What no difference of texts says, such as `a link to b`: outside text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// A unified diff of a small text file: outside text; none = it is no text, or too large.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
}

/// What a rehearsal showed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Rehearsal {
    /// The approval that still waits for a decision.
    pub approval_id: ApprovalId,
    /// Its revision when the rehearsal began.
    pub revision: u32,
    /// Its digest then: the result is about exactly this.
    pub digest: String,
    /// Who asked for it.
    pub by: String,
    /// When it began.
    pub at: Timestamp,
    /// How it ended.
    pub ended: RehearsalEnd,
    /// The same in words: `exit status 0 after 0.1 s`.
    pub outcome: String,
    /// Exit status, where the program ended by itself and had one.
    pub exit_status: Option<i32>,
    /// How long the program ran, in milliseconds.
    pub duration_ms: u64,
    /// What it wrote, the beginning and the end: outside text.
    pub output: String,
    /// What it would do to files, in order of their paths; at most 200.
    pub files: Vec<RehearsedFile>,
    /// How many more there are.
    pub more_files: u64,
    /// Why the list may be incomplete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incomplete: Option<String>,
    /// What it ran in: `bubblewrap: a copy of the workspace, no network`.
    pub sandbox: String,
}

impl Rehearsal {
    /// What would become of files, in a few words: `1 created, 2 changed`.
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
