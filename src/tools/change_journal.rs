//! Where changes of files are written down before they begin, with what the files held.
//!
//! Each has a directory of its own, outside of every workspace: below `open` until it happened whole, then below `done`.

use std::fs::{DirBuilder, File};
use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::tools::atomic::{Replace, write_atomically};

/// Name of a record in its entry. What the files held lies beside it, each by its number in the list of files.
const RECORD: &str = "record.json";
const OPEN: &str = "open";
const DONE: &str = "done";

/// What one call did to files, or was about to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeRecord {
    /// The workspace, absolute.
    pub workspace: PathBuf,
    /// Id of the session.
    pub session: String,
    /// The tool.
    pub tool: String,
    /// What the model reads of it.
    pub said: String,
    /// The files, in the order in which they change.
    pub files: Vec<ChangedFile>,
    /// Directories that it makes, below the workspace, outermost first.
    pub made: Vec<String>,
    /// Whether all of it happened: where its entry lies.
    #[serde(skip)]
    pub done: bool,
    /// Whether it was undone later.
    pub undone: bool,
    /// When it happened, where writing it down that it was undone hides that; none = its entry says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub happened_at: Option<Timestamp>,
    /// Why it is neither done nor taken back.
    pub problem: Option<String>,
}

/// A file in the record of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedFile {
    /// Below the workspace.
    pub path: String,
    /// What it held; none = it was not there.
    pub before: Option<FileState>,
    /// What the change makes of it; none = it goes.
    pub after: Option<FileState>,
}

/// What a file holds, in the record of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileState {
    /// Lower-case hex SHA-256.
    pub digest: String,
    /// Bytes.
    pub size: u64,
    /// Permission bits.
    pub mode: u32,
}

/// The place of one change.
#[derive(Debug, Clone)]
pub struct JournalEntry {
    journal: PathBuf,
    key: String,
}

impl JournalEntry {
    /// That of a change; it need not be there yet.
    pub fn new(journal: &Path, key: &str) -> Self {
        Self {
            journal: journal.to_owned(),
            key: key.to_owned(),
        }
    }

    /// Where all changes are.
    pub fn journal(&self) -> &Path {
        &self.journal
    }

    /// The id of its call.
    pub fn key(&self) -> &str {
        &self.key
    }

    fn path(&self, state: &str) -> PathBuf {
        self.journal.join(state).join(&self.key)
    }

    fn open(&self, state: &str) -> std::io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(rustix::fs::open(self.path(state), flags, Mode::empty())?)
    }

    /// Its directory, open.
    pub fn directory(&self) -> std::io::Result<OwnedFd> {
        match self.open(OPEN) {
            Err(error) if error.kind() == ErrorKind::NotFound => self.open(DONE),
            opened => opened,
        }
    }

    /// The record; none = there is no such change.
    pub fn read(&self) -> std::io::Result<Option<ChangeRecord>> {
        for (state, done) in [(DONE, true), (OPEN, false)] {
            match std::fs::read(self.path(state).join(RECORD)) {
                Ok(bytes) => {
                    let record = serde_json::from_slice(&bytes)?;
                    return Ok(Some(ChangeRecord { done, ..record }));
                }
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// When the record was written last.
    pub fn written(&self) -> std::io::Result<Timestamp> {
        let found = File::from(self.directory()?).metadata()?;
        Ok(Timestamp(
            found.mtime() * 1000 + found.mtime_nsec() / 1_000_000,
        ))
    }

    /// Makes room for what files hold before a change.
    pub fn create(&self) -> std::io::Result<OwnedFd> {
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700);
        builder.create(self.journal.join(OPEN))?;
        builder.create(self.journal.join(DONE))?;
        builder.recursive(false).create(self.path(OPEN))?;
        self.directory()
    }

    /// Writes the record of a change that begins: from here on a start takes it back.
    pub fn begin(&self, record: &ChangeRecord) -> std::io::Result<()> {
        self.write(record)?;
        // Its name lasts as long as it does.
        File::open(self.journal.join(OPEN))?.sync_all()
    }

    /// Says that the change happened whole.
    pub fn finish(&self) -> std::io::Result<()> {
        std::fs::rename(self.path(OPEN), self.path(DONE))?;
        File::open(self.journal.join(DONE))?.sync_all()
    }

    /// Takes that back.
    pub fn reopen(&self) -> std::io::Result<()> {
        match std::fs::rename(self.path(DONE), self.path(OPEN)) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Writes the record as it is now.
    pub fn write(&self, record: &ChangeRecord) -> std::io::Result<()> {
        let bytes = serde_json::to_vec(record)?;
        let (directory, mode) = (self.directory()?, Mode::RUSR | Mode::WUSR);
        let written = write_atomically(
            &directory,
            RECORD.as_ref(),
            &[&bytes],
            mode,
            Replace::Existing,
        );
        written.map_err(|failure| failure.error)
    }

    /// Forgets what the files held.
    pub fn forget_content(&self, files: usize) {
        for index in 0..files {
            let _ = std::fs::remove_file(self.path(DONE).join(index.to_string()));
        }
    }

    /// Forgets the change, with what the files held.
    pub fn remove(&self) -> std::io::Result<()> {
        for state in [OPEN, DONE] {
            match std::fs::remove_dir_all(self.path(state)) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }
}

/// The changes that happened whole, the newest first.
pub fn done_entries(journal: &Path, limit: usize) -> std::io::Result<Vec<JournalEntry>> {
    let mut entries = Vec::new();
    for entry in entries_in(journal, DONE)? {
        entries.push((entry.written()?, entry));
    }
    entries.sort_by_key(|(written, _)| std::cmp::Reverse(*written));
    entries.truncate(limit);
    Ok(entries.into_iter().map(|(_, entry)| entry).collect())
}

/// The changes that did not happen whole, as far as they are not taken back.
pub fn open_entries(journal: &Path) -> std::io::Result<Vec<JournalEntry>> {
    entries_in(journal, OPEN)
}

fn entries_in(journal: &Path, state: &str) -> std::io::Result<Vec<JournalEntry>> {
    let found = match std::fs::read_dir(journal.join(state)) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        found => found?,
    };
    let mut entries = Vec::new();
    for one in found {
        if let Some(key) = one?.file_name().to_str() {
            entries.push(JournalEntry::new(journal, key));
        }
    }
    entries.sort_by(|left, right| left.key.cmp(&right.key));
    Ok(entries)
}
