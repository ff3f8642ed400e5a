//! Settling changes of files that were cut off, and undoing those that happened.
//!
//! At a start every change that is not done is finished, if all its files are written, or taken back. So no change stays
//! half done, and whoever looks later knows which it was.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::clock::Timestamp;
use crate::tools::change_journal::{
    ChangeRecord, ChangedFile, JournalEntry, done_entries, open_entries,
};
use crate::tools::file_change::{self, ChangeFailure, FileTarget, NewContent};
use crate::tools::file_version::read;
use crate::tools::guard::{Guard, Kind};
use crate::tools::tool::Probe;

/// What follows the key of a change in that of its undoing.
const UNDO: &str = "-undo";
/// One undoing at a time: two of the same change would take each other back.
static UNDOING: Mutex<()> = Mutex::new(());

/// Finishes or takes back every change during which the process died. `hidden` gives the directories that tools never
/// see, of a workspace.
pub fn recover(journal: &Path, hidden: impl Fn(&Path) -> Vec<PathBuf>) -> std::io::Result<()> {
    for entry in open_entries(journal)? {
        let record = match entry.read() {
            Ok(Some(record)) => record,
            // It died before the record was written: nothing was touched.
            Ok(None) => {
                entry.remove()?;
                continue;
            }
            Err(error) => {
                tracing::warn!(change = entry.key(), %error, "cannot read the record of a file change; ignoring it");
                continue;
            }
        };
        if record.problem.is_none() {
            let guard = Guard::of(record.workspace.clone(), hidden(&record.workspace));
            settle(&entry, &guard, record)?;
        }
        finish_undo(journal, &entry)?;
    }
    Ok(())
}

/// Finishes or takes back a change that was cut off.
pub fn settle(
    entry: &JournalEntry,
    guard: &Guard,
    mut record: ChangeRecord,
) -> std::io::Result<()> {
    if file_change::is_complete(guard, &record) {
        for (index, file) in record.files.iter().enumerate() {
            file_change::forget_temporary(entry, guard, file, index);
        }
        return entry.finish();
    }
    // Nobody knows how far it came.
    let all = record.files.len();
    if let Err(left) = file_change::roll_back(entry, guard, &record, all) {
        tracing::warn!(change = entry.key(), %left, "cannot undo all of an interrupted file change");
        record.problem = Some(left);
        entry.write(&record)?;
    }
    Ok(())
}

/// What is known of an earlier run of a call.
pub fn look(entry: &JournalEntry) -> Probe {
    match entry.read() {
        Ok(None) => Probe::NotDone,
        Ok(Some(record)) if record.done => Probe::Done {
            content: record.said,
        },
        Ok(Some(record)) => Probe::Unclear {
            why: record
                .problem
                .unwrap_or_else(|| "the change was cut off; the next start settles it".to_owned()),
        },
        Err(error) => Probe::Unclear {
            why: format!("the record of the change cannot be read: {error}"),
        },
    }
}

/// Puts the files of a change back as they were before it: all, or none where one was changed since. The error is for a
/// person.
pub fn undo(
    journal: &Path,
    key: &str,
    hidden: impl Fn(&Path) -> Vec<PathBuf>,
) -> Result<ChangeRecord, String> {
    let _only = UNDOING.lock().unwrap_or_else(PoisonError::into_inner);
    let entry = JournalEntry::new(journal, key);
    let undoing = JournalEntry::new(journal, &format!("{key}{UNDO}"));
    // An earlier try that was cut off.
    let tried = finish_undo(journal, &undoing).and_then(|()| match undoing.read()? {
        Some(record) if record.problem.is_none() => {
            let guard = Guard::of(record.workspace.clone(), hidden(&record.workspace));
            settle(&undoing, &guard, record)
        }
        Some(_) | None => undoing.remove(),
    });
    tried.map_err(|error| format!("an earlier try cannot be settled: {error}"))?;
    let record = match entry.read() {
        Ok(Some(record)) => record,
        Ok(None) => return Err("nothing is kept of it any more, or it changed no file".to_owned()),
        Err(error) => return Err(format!("its record cannot be read: {error}")),
    };
    if record.undone {
        return Err("it was undone already".to_owned());
    }
    if !record.done {
        return Err("it did not happen whole".to_owned());
    }
    let guard = Guard::of(record.workspace.clone(), hidden(&record.workspace));
    if let Some(why) = file_change::changed_since(&guard, &record) {
        return Err(why);
    }
    let targets: Result<Vec<FileTarget>, String> = record
        .files
        .iter()
        .enumerate()
        .map(|(index, file)| target_of_undo(&entry, &guard, index, file))
        .collect();
    let new = ChangeRecord {
        said: String::new(),
        files: Vec::new(),
        made: Vec::new(),
        ..record.clone()
    };
    file_change::apply(&undoing, &guard, new, targets?)
        .map_err(|ChangeFailure { message, .. }| message)?;
    finish_undo(journal, &undoing).map_err(|error| format!("it is undone, but: {error}"))?;
    for directory in record.made.iter().rev() {
        file_change::remove_directory(&guard, directory);
    }
    Ok(record)
}

/// The file that a change made or wrote, and what it was before.
fn target_of_undo(
    entry: &JournalEntry,
    guard: &Guard,
    index: usize,
    file: &ChangedFile,
) -> Result<FileTarget, String> {
    let path = file_change::locate(guard, file)?;
    let failed = |error: std::io::Error| format!("`{}` cannot be put back: {error}", file.path);
    let before = match path.kind {
        Kind::File => Some(read(guard, &path, 0).map_err(failed)?),
        Kind::Missing | Kind::Directory => None,
    };
    let after = match &file.before {
        None => None,
        Some(state) => Some(NewContent::File {
            directory: entry.directory().map_err(failed)?,
            name: index.to_string().into(),
            state: state.clone(),
        }),
    };
    Ok(FileTarget {
        path,
        before,
        after,
    })
}

/// Marks the change as undone once its undoing is done, and forgets the undoing.
fn finish_undo(journal: &Path, undoing: &JournalEntry) -> std::io::Result<()> {
    let Some(key) = undoing.key().strip_suffix(UNDO) else {
        return Ok(());
    };
    if undoing.read()?.is_none_or(|record| !record.done) {
        return Ok(());
    }
    let entry = JournalEntry::new(journal, key);
    if let Some(mut record) = entry.read()? {
        record.undone = true;
        record.happened_at = Some(entry.written()?);
        entry.write(&record)?;
        entry.forget_content(record.files.len());
    }
    undoing.remove()
}

/// Forgets the changes whose record was written before then, with what the files held: how many. One that is spared
/// stays, and so does one that is not settled.
pub fn forget(
    journal: &Path,
    before: Timestamp,
    spared: impl Fn(&str) -> bool,
) -> std::io::Result<u64> {
    let mut forgotten = 0;
    let unsettled = open_entries(journal)?.into_iter().filter(|entry| {
        let record = entry.read().ok().flatten();
        record.is_some_and(|record| record.problem.is_some())
    });
    for entry in done_entries(journal, usize::MAX)?
        .into_iter()
        .chain(unsettled)
    {
        if entry.written()? < before && !spared(entry.key()) {
            entry.remove()?;
            forgotten += 1;
        }
    }
    Ok(forgotten)
}
