//! The files of the event archive: `<data dir>/events/2026-01-31.jsonl.gz`, one for each day in UTC, one event a line.
//!
//! A file appears whole or not at all: it is durable before it has its name.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use serde::Deserialize;

use crate::clock::{Day, Timestamp};
use crate::protocol::event::Event;
use crate::store::artifact_files::{UNFINISHED, failed, make_directory};
use crate::store::error::StoreError;

/// Folder of the files in the data directory.
pub(crate) const FOLDER: &str = "events";
/// End of the name of a day's file.
const ENDING: &str = ".jsonl.gz";

/// The file of a day.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ArchivedDay {
    /// Which day, in UTC.
    pub day: Day,
    /// Where it is.
    pub path: PathBuf,
    /// Its bytes.
    pub size: u64,
}

impl ArchivedDay {
    /// Its path below the data directory, which is also its place in a backup.
    pub(crate) fn member(&self) -> String {
        format!("{FOLDER}/{}{ENDING}", self.day)
    }
}

/// The day in UTC of a time.
pub(crate) fn day_of(at: Timestamp) -> Day {
    Day(at.as_millis().div_euclid(86_400_000))
}

/// The day of a file's name.
pub(crate) fn named(name: &str) -> Option<Day> {
    let day: Day = name.strip_suffix(ENDING)?.parse().ok()?;
    // A date can be written in more than one way; a file has one name.
    (format!("{day}{ENDING}") == name).then_some(day)
}

/// The files of a data directory, oldest day first.
pub fn days(data_dir: &Path) -> Result<Vec<ArchivedDay>, StoreError> {
    let root = data_dir.join(FOLDER);
    let list = || -> io::Result<Vec<ArchivedDay>> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(&root)? {
            let entry = entry?;
            let about = entry.metadata()?;
            if let Some(day) = named(&entry.file_name().to_string_lossy())
                && about.is_file()
            {
                found.push(ArchivedDay {
                    day,
                    path: entry.path(),
                    size: about.len(),
                });
            }
        }
        found.sort();
        Ok(found)
    };
    match list() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        other => other.map_err(|error| failed(&root, &error)),
    }
}

/// The lines of a day's file, in the order of their events.
pub(crate) struct Lines {
    path: PathBuf,
    lines: io::Lines<BufReader<MultiGzDecoder<BufReader<File>>>>,
}

impl Lines {
    pub(crate) fn open(path: &Path) -> Result<Self, StoreError> {
        let file = File::open(path).map_err(|error| failed(path, &error))?;
        Ok(Self {
            path: path.to_owned(),
            lines: BufReader::new(MultiGzDecoder::new(BufReader::new(file))).lines(),
        })
    }

    pub(crate) fn damaged(&self, why: impl std::fmt::Display) -> StoreError {
        StoreError::Corrupt(format!("{}: {why}", self.path.display()))
    }
}

impl Iterator for Lines {
    type Item = Result<String, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        let line = self.lines.next()?;
        Some(line.map_err(|error| self.damaged(error)))
    }
}

/// The archived events of a data directory from a time on, in order.
pub fn events_since(
    data_dir: &Path,
    since: Timestamp,
) -> Result<impl Iterator<Item = Result<Event, StoreError>> + use<>, StoreError> {
    let mut days = days(data_dir)?.into_iter();
    let mut open: Option<Lines> = None;
    let mut next = move || -> Result<Option<Event>, StoreError> {
        loop {
            if let Some(lines) = &mut open
                && let Some(line) = lines.next()
            {
                let event: Event =
                    serde_json::from_str(&line?).map_err(|error| lines.damaged(error))?;
                if event.at >= since {
                    return Ok(Some(event));
                }
                continue;
            }
            let Some(file) = days.find(|file| file.day >= day_of(since)) else {
                return Ok(None);
            };
            open = Some(Lines::open(&file.path)?);
        }
    };
    let mut failed = false;
    Ok(std::iter::from_fn(move || {
        let found = if failed { None } else { next().transpose() };
        failed = found.as_ref().is_some_and(Result::is_err);
        found
    }))
}

/// The number of the newest event in the files; 0 = there is none. What a crash left unfinished goes.
pub(crate) fn newest(data_dir: &Path) -> Result<u64, StoreError> {
    #[derive(Deserialize)]
    struct Numbered {
        seq: u64,
    }
    remove_unfinished(data_dir)?;
    let Some(last) = days(data_dir)?.pop() else {
        return Ok(0);
    };
    let mut lines = Lines::open(&last.path)?;
    let mut newest = 0;
    while let Some(line) = lines.next() {
        let line: Numbered = serde_json::from_str(&line?).map_err(|error| lines.damaged(error))?;
        newest = newest.max(line.seq);
    }
    Ok(newest)
}

/// Removes what a crash left half written.
pub(crate) fn remove_unfinished(data_dir: &Path) -> Result<(), StoreError> {
    let root = data_dir.join(FOLDER);
    let remove = || -> io::Result<()> {
        for entry in std::fs::read_dir(&root)? {
            let entry = entry?;
            if entry.file_name().to_string_lossy().ends_with(UNFINISHED) {
                std::fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    };
    match remove() {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(&root, &error)),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// A day's file that is being written beside the one it takes the place of.
pub(crate) struct DayFile {
    path: PathBuf,
    unfinished: PathBuf,
    out: GzEncoder<File>,
}

impl DayFile {
    /// Begins the file of this path with nothing in it.
    pub(crate) fn begin(path: &Path) -> Result<Self, StoreError> {
        let mut unfinished = path.as_os_str().to_owned();
        unfinished.push(UNFINISHED);
        let unfinished = PathBuf::from(unfinished);
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&unfinished)
            .map_err(|error| failed(&unfinished, &error))?;
        Ok(Self {
            path: path.to_owned(),
            out: GzEncoder::new(file, Compression::default()),
            unfinished,
        })
    }

    /// Begins the file of a day with what it holds already.
    pub(crate) fn of_day(data_dir: &Path, day: Day) -> Result<Self, StoreError> {
        let root = data_dir.join(FOLDER);
        make_directory(&root).map_err(|error| failed(&root, &error))?;
        let path = root.join(format!("{day}{ENDING}"));
        let mut begun = Self::begin(&path)?;
        // What is compressed stays as it is: a gzip file may have several parts.
        match File::open(&path) {
            Ok(mut known) => io::copy(&mut known, begun.out.get_mut())
                .map(|_| ())
                .map_err(|error| failed(&path, &error))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(&path, &error)),
        }
        Ok(begun)
    }

    pub(crate) fn line(&mut self, line: &[u8]) -> Result<(), StoreError> {
        self.out
            .write_all(line)
            .and_then(|()| self.out.write_all(b"\n"))
            .map_err(|error| failed(&self.unfinished, &error))
    }

    /// Makes what was written durable; it has no name of its own yet.
    pub(crate) fn seal(self) -> Result<SealedDay, StoreError> {
        let synced = self.out.finish().and_then(|file| file.sync_all());
        synced.map_err(|error| failed(&self.unfinished, &error))?;
        Ok(SealedDay {
            path: self.path,
            unfinished: self.unfinished,
        })
    }
}

/// A day's file that is durable under another name.
pub(crate) struct SealedDay {
    path: PathBuf,
    unfinished: PathBuf,
}

impl SealedDay {
    /// Gives it its name, durably.
    pub(crate) fn place(&self) -> Result<(), StoreError> {
        crate::crash_point!("archive.pre_rename");
        let root = self.path.parent().unwrap_or(Path::new("."));
        std::fs::rename(&self.unfinished, &self.path)
            .and_then(|()| File::open(root)?.sync_all())
            .map_err(|error| failed(&self.path, &error))?;
        crate::crash_point!("archive.placed");
        Ok(())
    }
}
