//! The difference that a past call made to files, from what its record kept. Every content is checked by its digest:
//! what is shown as before or after is what it was, or it is said to be missing.

use std::ffi::OsStr;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use serde_json::Value;

use crate::tools::canonical::sha256_hex;
use crate::tools::change_journal::{ChangeRecord, ChangedFile, FileState, JournalEntry};
use crate::tools::edit_file::edits_of;
use crate::tools::file_version::{NO_FILE, unified};
use crate::tools::guard::open_regular;
use crate::tools::read_file::text;
use crate::tools::text_edits::{Edit, edited};

/// Largest content that is compared, in bytes.
const MAX_CONTENT: u64 = 1 << 20;

/// A difference, and what is missing of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PastDiff {
    /// Unified diffs, one file after the other.
    pub unified: String,
    /// What the record does not hold: sentences.
    pub missing: Vec<String>,
}

/// What the record of a change says of it. `later` are the changes after it, the next one first.
pub fn of_record(
    entry: &JournalEntry,
    record: &ChangeRecord,
    args: &Value,
    later: &[(JournalEntry, ChangeRecord)],
) -> PastDiff {
    let mut diff = PastDiff::default();
    let kept = |index: usize, file: &ChangedFile| {
        let directory = entry.directory().ok()?;
        content(&directory, &index.to_string(), file.before.as_ref()?)
    };
    for (index, file) in record.files.iter().enumerate() {
        let path = &file.path;
        let before = match &file.before {
            None => Some(String::new()),
            Some(_) => kept(index, file),
        };
        let after = match &file.after {
            None => Some(String::new()),
            Some(after) => edited_now(record, args, before.as_deref(), after)
                .or_else(|| moved_here(record, after, &kept))
                .or_else(|| kept_later(path, record, after, later))
                .or_else(|| in_workspace(&record.workspace, path, after)),
        };
        let name = |state: &Option<FileState>, sign: &str| match state {
            None => NO_FILE.to_owned(),
            Some(_) => format!("{sign}/{path}"),
        };
        let (from, to) = (name(&file.before, "a"), name(&file.after, "b"));
        match (before, after) {
            (Some(before), Some(after)) => {
                diff.unified.push_str(&unified(&before, &after, &from, &to));
            }
            (before, after) => {
                let what = match (before.is_none(), after.is_none()) {
                    (true, true) => "what it held before and after",
                    (true, false) => "what it held before",
                    (false, _) => "what it held after",
                };
                diff.missing
                    .push(format!("{path}: {what} is not kept, or is no text"));
            }
        }
    }
    diff
}

/// A file, where it holds what it should and is text.
fn content(directory: &OwnedFd, name: &str, state: &FileState) -> Option<String> {
    if state.size > MAX_CONTENT {
        return None;
    }
    let file = open_regular(directory, OsStr::new(name)).ok()?;
    let mut bytes = Vec::new();
    file.take(MAX_CONTENT + 1).read_to_end(&mut bytes).ok()?;
    as_text(bytes, state)
}

fn as_text(bytes: Vec<u8>, state: &FileState) -> Option<String> {
    if sha256_hex(&bytes) != state.digest || bytes.contains(&0) {
        return None;
    }
    String::from_utf8(bytes).ok()
}

/// What an edit makes of what was there.
fn edited_now(
    record: &ChangeRecord,
    args: &Value,
    before: Option<&str>,
    after: &FileState,
) -> Option<String> {
    if record.tool != "edit_file" {
        return None;
    }
    let text = edited(before?, &edits_of(args)).ok()?;
    as_text(text.into_bytes(), after)
}

/// A file that only moved held the same before.
fn moved_here(
    record: &ChangeRecord,
    after: &FileState,
    kept: &impl Fn(usize, &ChangedFile) -> Option<String>,
) -> Option<String> {
    let same = |file: &&(usize, &ChangedFile)| {
        let before = file.1.before.as_ref();
        before.is_some_and(|before| before.digest == after.digest)
    };
    let files: Vec<_> = record.files.iter().enumerate().collect();
    let (index, file) = files.iter().find(same)?;
    kept(*index, file)
}

/// What a later change found there.
fn kept_later(
    path: &str,
    record: &ChangeRecord,
    after: &FileState,
    later: &[(JournalEntry, ChangeRecord)],
) -> Option<String> {
    let there = later
        .iter()
        .filter(|(_, one)| one.workspace == record.workspace);
    there
        .flat_map(|(entry, one)| one.files.iter().enumerate().map(move |file| (entry, file)))
        .filter(|(_, (_, file))| {
            let before = file.before.as_ref();
            file.path == path && before.is_some_and(|before| before.digest == after.digest)
        })
        .find_map(|(entry, (index, _))| {
            content(&entry.directory().ok()?, &index.to_string(), after)
        })
}

/// What is there now.
fn in_workspace(workspace: &Path, path: &str, after: &FileState) -> Option<String> {
    let path = workspace.join(path);
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let parent = rustix::fs::open(path.parent()?, flags, Mode::empty()).ok()?;
    content(&parent, path.file_name()?.to_str()?, after)
}

/// What the arguments of a call that ran say of it.
pub fn of_arguments(tool: &str, args: &Value) -> PastDiff {
    let path = text(args, "path").unwrap_or_default();
    let to = format!("b/{path}");
    let mut diff = PastDiff::default();
    let missing = |what: &str| vec![format!("{path}: {what} is not in the record")];
    match tool {
        "write_file" => {
            let content = text(args, "content").unwrap_or_default();
            diff.unified = unified("", content, NO_FILE, &to);
            match text(args, "mode") {
                Some("overwrite") => diff.missing = missing("what it held before"),
                Some("append") => diff.missing = missing("what stands above the new lines"),
                Some(_) | None => {}
            }
        }
        "edit_file" => {
            for Edit { old, new, .. } in edits_of(args) {
                diff.unified
                    .push_str(&unified(old, new, &format!("a/{path}"), &to));
            }
            diff.missing = missing("what stands around the edits");
        }
        "apply_patch" => {
            let patch = text(args, "patch").unwrap_or_default();
            patch.clone_into(&mut diff.unified);
            diff.missing = vec!["what stands around the patch is not in the record".to_owned()];
        }
        "move_file" => {
            let from = text(args, "from").unwrap_or_default();
            let to = text(args, "to").unwrap_or_default();
            diff.missing = vec![format!(
                "{from} moved to {to}; what it held is not in the record"
            )];
        }
        "delete_file" => diff.missing = missing("what it held before it was deleted"),
        _ => {}
    }
    diff
}
