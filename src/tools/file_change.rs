//! Changing several files at once: all of them, or none.
//!
//! What each file held is kept before the first one changes, so a change that fails or is killed half-way is taken back
//! whole. A file that holds neither what it held before nor what the change made of it was written by somebody else: it
//! is never touched, only named.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write as _;
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, Mode, OFlags, RawMode};

use crate::crash_point;
use crate::tools::atomic::{Replace, name_temporary};
use crate::tools::change_journal::{ChangeRecord, ChangedFile, FileState, JournalEntry};
use crate::tools::file_version::{FileVersion, Stamp, each_chunk, read};
use crate::tools::guard::{Guard, GuardedPath, Kind, open_regular};
use crate::tools::tool::EffectDisposition;

/// A file that a change touches.
pub struct FileTarget {
    /// Which.
    pub path: GuardedPath,
    /// What it holds; none = it is not there.
    pub before: Option<FileVersion>,
    /// What it becomes; none = it goes.
    pub after: Option<NewContent>,
}

/// Where the new content of a file comes from.
pub enum NewContent {
    /// From here.
    Bytes {
        /// All of it.
        bytes: Vec<u8>,
        /// Permission bits, before the umask where nothing is replaced.
        mode: u32,
    },
    /// From another file, which stays as it is.
    File {
        /// Its directory.
        directory: OwnedFd,
        /// Its name there.
        name: OsString,
        /// What it holds.
        state: FileState,
    },
}

impl From<&FileVersion> for FileState {
    fn from(version: &FileVersion) -> Self {
        Self {
            digest: version.digest.clone(),
            size: version.size,
            mode: version.mode,
        }
    }
}

impl NewContent {
    fn state(&self) -> FileState {
        match self {
            Self::Bytes { bytes, mode } => FileState {
                digest: crate::tools::canonical::sha256_hex(bytes),
                size: bytes.len() as u64,
                mode: *mode,
            },
            Self::File { state, .. } => state.clone(),
        }
    }
}

/// A change that failed.
#[derive(Debug)]
pub struct ChangeFailure {
    /// Why, and what became of the files.
    pub message: String,
    /// Whether files are changed now.
    pub disposition: EffectDisposition,
}

impl ChangeFailure {
    /// Nothing is changed.
    pub fn before_effect(message: String) -> Self {
        Self {
            message,
            disposition: EffectDisposition::ConfirmedNoEffect,
        }
    }
}

/// Changes files as one. `record` says what for; its files are filled in here.
pub fn apply(
    entry: &JournalEntry,
    guard: &Guard,
    mut record: ChangeRecord,
    mut targets: Vec<FileTarget>,
) -> Result<(), ChangeFailure> {
    // What goes, goes last: until then its content is there under one name at least.
    targets.sort_by_key(|target| target.after.is_none());
    for target in &targets {
        let Some(path) = target
            .path
            .components()
            .iter()
            .map(|name| name.to_str())
            .collect()
        else {
            return Err(ChangeFailure::before_effect(format!(
                "`{}` has a name that is not UTF-8",
                target.path.relative()
            )));
        };
        let names: Vec<&str> = path;
        record.files.push(ChangedFile {
            path: names.join("/"),
            before: target.before.as_ref().map(FileState::from),
            after: target.after.as_ref().map(NewContent::state),
        });
        for end in 1..names.len() {
            let directory = names[..end].join("/");
            if guard.open_below(&target.path.components()[..end]).is_err()
                && !record.made.contains(&directory)
            {
                record.made.push(directory);
            }
        }
    }
    let cannot = |error: std::io::Error| {
        ChangeFailure::before_effect(format!(
            "nothing is changed: what the files hold cannot be kept: {error}"
        ))
    };
    let kept = entry.create().map_err(cannot)?;
    if let Err(error) = keep(&kept, guard, &targets).and_then(|()| entry.begin(&record)) {
        let _ = entry.remove();
        return Err(cannot(error));
    }
    let mut committed = 0;
    let changed = stage(entry, guard, &targets).and_then(|staged| {
        crash_point!("change.staged");
        commit(staged, &mut committed)
    });
    let finished = changed.and_then(|()| {
        entry
            .finish()
            .map_err(|error| format!("the change cannot be written down: {error}"))
    });
    crash_point!("change.done");
    let Err(why) = finished else {
        return Ok(());
    };
    let _ = entry.reopen();
    match roll_back(entry, guard, &record, committed) {
        Ok(()) => Err(ChangeFailure::before_effect(format!(
            "nothing is changed: {why}"
        ))),
        Err(left) => {
            record.problem = Some(left.clone());
            if let Err(error) = entry.write(&record) {
                tracing::warn!(%error, "cannot record the outcome of a file change");
            }
            Err(ChangeFailure {
                message: format!("{why}; and not all could be taken back: {left}"),
                disposition: EffectDisposition::Unknown,
            })
        }
    }
}

/// A file whose new content is on disk under another name.
struct Staged<'a> {
    target: &'a FileTarget,
    parent: OwnedFd,
    name: &'a OsStr,
    temporary: Option<OsString>,
}

/// The name under which the new content of a file waits beside it.
fn temporary(entry: &JournalEntry, index: usize) -> OsString {
    format!(".leverframe-{}-{index}.tmp", entry.key()).into()
}

/// Keeps what the files hold.
fn keep(kept: &OwnedFd, guard: &Guard, targets: &[FileTarget]) -> std::io::Result<()> {
    for (index, target) in targets.iter().enumerate() {
        if let Some(before) = &target.before {
            let components = target.path.components();
            let Some((name, parents)) = components.split_last() else {
                continue;
            };
            let copy = OsString::from(index.to_string());
            let parent = guard.open_below(parents)?;
            copy_file((&parent, name), (kept, &copy), before.is_shared)?;
        }
    }
    Ok(())
}

/// Writes what the files become under other names.
fn stage<'a>(
    entry: &JournalEntry,
    guard: &Guard,
    targets: &'a [FileTarget],
) -> Result<Vec<Staged<'a>>, String> {
    let mut staged = Vec::with_capacity(targets.len());
    for (index, target) in targets.iter().enumerate() {
        let shown = target.path.relative();
        let failed = |error: std::io::Error| format!("`{shown}` cannot be written: {error}");
        let (parent, name) = guard.open_parent(&target.path).map_err(failed)?;
        let temporary = match &target.after {
            None => None,
            Some(after) => {
                let temporary = temporary(entry, index);
                write_new(&parent, &temporary, after, target.before.is_some()).map_err(failed)?;
                Some(temporary)
            }
        };
        staged.push(Staged {
            target,
            parent,
            name,
            temporary,
        });
    }
    Ok(staged)
}

fn write_new(
    parent: &OwnedFd,
    temporary: &OsStr,
    content: &NewContent,
    replaces: bool,
) -> std::io::Result<()> {
    match content {
        NewContent::Bytes { bytes, mode } => {
            let mut file = create(parent, temporary, *mode)?;
            file.write_all(bytes)?;
            if replaces {
                rustix::fs::fchmod(&file, permissions(*mode))?;
            }
            file.sync_all()
        }
        NewContent::File {
            directory, name, ..
        } => copy_file((directory, name), (parent, temporary), false),
    }
}

fn permissions(mode: u32) -> Mode {
    RawMode::try_from(mode).map_or(Mode::RUSR | Mode::WUSR, Mode::from_raw_mode)
}

fn create(parent: &OwnedFd, name: &OsStr, mode: u32) -> std::io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::openat(parent, name, flags, permissions(mode))?;
    Ok(File::from(file))
}

/// Gives a file a second name, or copies it where that cannot be: on another file system, or where more names of it
/// exist through which it could be written.
fn copy_file(
    (from, name): (&OwnedFd, &OsStr),
    (to, copy): (&OwnedFd, &OsStr),
    is_shared: bool,
) -> std::io::Result<()> {
    if !is_shared && rustix::fs::linkat(from, name, to, copy, AtFlags::empty()).is_ok() {
        return Ok(());
    }
    let mut old = open_regular(from, name)?;
    let mode = rustix::fs::fstat(&old)?.st_mode;
    let mut new = create(to, copy, 0o600)?;
    each_chunk(&mut old, |chunk| new.write_all(chunk))?;
    rustix::fs::fchmod(&new, Mode::from_raw_mode(mode) & Mode::from_raw_mode(0o777))?;
    new.sync_all()
}

/// Gives the new contents their names, then takes away what goes. `committed` counts the files that it changed.
fn commit(staged: Vec<Staged<'_>>, committed: &mut usize) -> Result<(), String> {
    for one in &staged {
        let shown = one.target.path.relative();
        let failed = |error: std::io::Error| format!("`{shown}` cannot be written: {error}");
        if let Some(before) = &one.target.before {
            let found = open_regular(&one.parent, one.name).and_then(|file| file.metadata());
            if Stamp::of(&found.map_err(failed)?) != before.stamp {
                return Err(format!(
                    "`{shown}` changed at the same moment; look at it again"
                ));
            }
        }
        match (&one.temporary, &one.target.before) {
            (Some(temporary), Some(_)) => {
                name_temporary(&one.parent, temporary, one.name, Replace::Existing)
            }
            (Some(temporary), None) => {
                name_temporary(&one.parent, temporary, one.name, Replace::Never)
            }
            (None, _) => rustix::fs::unlinkat(&one.parent, one.name, AtFlags::empty())
                .map_err(std::io::Error::from),
        }
        .map_err(failed)?;
        *committed += 1;
        crash_point!("change.half");
    }
    for one in &staged {
        rustix::fs::fsync(&one.parent).map_err(|error| {
            let shown = one.target.path.relative();
            format!("the disk did not confirm `{shown}`: {error}")
        })?;
    }
    Ok(())
}

/// What a file of a record holds now.
enum Now {
    Before,
    After,
    Other(String),
}

/// Where a file of a record is. A part of its path that became a link since leads to a file that nobody was asked about.
pub fn locate(guard: &Guard, file: &ChangedFile) -> Result<GuardedPath, String> {
    let found = guard
        .resolve(&file.path)
        .map_err(|error| error.to_string())?;
    if found.relative() == file.path {
        Ok(found)
    } else {
        Err(format!("`{}` leads through a link now", file.path))
    }
}

fn now(guard: &Guard, file: &ChangedFile) -> Now {
    let found = locate(guard, file);
    let state = match &found {
        Ok(path) => match path.kind {
            Kind::Missing => Ok(None),
            Kind::File => read(guard, path, 0)
                .map(|version| Some(version.digest))
                .map_err(|error| format!("`{}` cannot be read: {error}", file.path)),
            Kind::Directory => Err(format!("`{}` is a directory now", file.path)),
        },
        Err(problem) => Err(problem.clone()),
    };
    let digest = |state: &Option<FileState>| state.as_ref().map(|state| state.digest.clone());
    match state {
        Ok(digest_now) if digest_now == digest(&file.before) => Now::Before,
        Ok(digest_now) if digest_now == digest(&file.after) => Now::After,
        Ok(_) => Now::Other(format!("`{}` was changed by somebody else", file.path)),
        Err(problem) => Now::Other(problem),
    }
}

/// Whether every file holds what the change makes of it.
pub fn is_complete(guard: &Guard, record: &ChangeRecord) -> bool {
    record
        .files
        .iter()
        .all(|file| matches!(now(guard, file), Now::After))
}

/// Why a change cannot be taken back: the first file that does not hold what it made of it.
pub fn changed_since(guard: &Guard, record: &ChangeRecord) -> Option<String> {
    record.files.iter().find_map(|file| match now(guard, file) {
        Now::After => None,
        Now::Before => Some(format!("`{}` is as it was before the change", file.path)),
        Now::Other(why) => Some(why),
    })
}

/// Takes back what a change did so far, and removes its entry. The change may have reached the first `committed` files,
/// and no other. The error says which files stay as they are, and why.
pub fn roll_back(
    entry: &JournalEntry,
    guard: &Guard,
    record: &ChangeRecord,
    committed: usize,
) -> Result<(), String> {
    let mut left = Vec::new();
    for (index, file) in record.files.iter().enumerate().rev() {
        if index < committed {
            let restored = match now(guard, file) {
                Now::Before => Ok(()),
                Now::After => restore(entry, guard, file, index),
                Now::Other(why) => Err(why),
            };
            left.extend(restored.err());
        }
        forget_temporary(entry, guard, file, index);
    }
    for directory in record.made.iter().rev() {
        remove_directory(guard, directory);
    }
    if !left.is_empty() {
        return Err(left.join("; "));
    }
    entry
        .remove()
        .map_err(|error| format!("the record of the change cannot be removed: {error}"))
}

fn restore(
    entry: &JournalEntry,
    guard: &Guard,
    file: &ChangedFile,
    index: usize,
) -> Result<(), String> {
    let run = || -> std::io::Result<()> {
        let path = locate(guard, file).map_err(std::io::Error::other)?;
        let (parent, name) = guard.open_parent(&path)?;
        if file.before.is_some() {
            let temporary = temporary(entry, index);
            let _ = rustix::fs::unlinkat(&parent, &temporary, AtFlags::empty());
            let kept = OsString::from(index.to_string());
            copy_file((&entry.directory()?, &kept), (&parent, &temporary), false)?;
            name_temporary(&parent, &temporary, name, Replace::Existing)?;
        } else {
            rustix::fs::unlinkat(&parent, name, AtFlags::empty())?;
        }
        Ok(rustix::fs::fsync(&parent)?)
    };
    run().map_err(|error| format!("`{}` cannot be put back: {error}", file.path))
}

/// Removes what waits beside a file, if it does.
pub fn forget_temporary(entry: &JournalEntry, guard: &Guard, file: &ChangedFile, index: usize) {
    let Ok(path) = locate(guard, file) else {
        return;
    };
    let components = path.components();
    let parents = &components[..components.len().saturating_sub(1)];
    if let Ok(parent) = guard.open_below(parents) {
        let _ = rustix::fs::unlinkat(&parent, temporary(entry, index), AtFlags::empty());
    }
}

/// Removes a directory that a change made. One that somebody put something into stays.
pub fn remove_directory(guard: &Guard, directory: &str) {
    let names: Vec<OsString> = directory.split('/').map(OsString::from).collect();
    if let Some((name, parents)) = names.split_last()
        && let Ok(parent) = guard.open_below(parents)
    {
        let _ = rustix::fs::unlinkat(&parent, name, AtFlags::REMOVEDIR);
    }
}
