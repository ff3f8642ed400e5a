//! The files of trusted skills as programs of agents see them: a directory for each channel, with what the database keeps.
//!
//! Nothing here reads the folders of skills: a change of theirs reaches no program before an operator trusts it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Texts by their path below the directory of a channel: `SKILL/FILE`.
pub type SkillTexts = BTreeMap<PathBuf, String>;

/// Makes a directory hold exactly these files. A program that runs sees an old file or the new one.
pub fn write(directory: &Path, texts: &SkillTexts) -> std::io::Result<()> {
    if texts.is_empty() && !directory.exists() {
        return Ok(());
    }
    std::fs::create_dir_all(directory)?;
    let mut folders: BTreeSet<&Path> = BTreeSet::new();
    for path in texts.keys() {
        folders.extend(path.ancestors().skip(1));
    }
    remove_others(directory, Path::new(""), texts, &folders)?;
    for (path, text) in texts {
        let place = directory.join(path);
        if std::fs::read(&place).is_ok_and(|known| known == text.as_bytes()) {
            continue;
        }
        let parent = place.parent().unwrap_or(directory);
        std::fs::create_dir_all(parent)?;
        let mut fresh = tempfile_in(parent)?;
        fresh.1.write_all(text.as_bytes())?;
        std::fs::rename(&fresh.0, &place)?;
    }
    Ok(())
}

/// A new file with a name that no skill has.
fn tempfile_in(parent: &Path) -> std::io::Result<(PathBuf, std::fs::File)> {
    let path = parent.join(".leverframe.tmp");
    let file = std::fs::File::create(&path)?;
    Ok((path, file))
}

/// Removes what is not among the files, below `inside`.
fn remove_others(
    directory: &Path,
    inside: &Path,
    texts: &SkillTexts,
    folders: &BTreeSet<&Path>,
) -> std::io::Result<()> {
    for entry in std::fs::read_dir(directory.join(inside))? {
        let entry = entry?;
        let path = inside.join(entry.file_name());
        let is_folder = entry.file_type()?.is_dir();
        if is_folder && folders.contains(path.as_path()) {
            remove_others(directory, &path, texts, folders)?;
        } else if is_folder {
            std::fs::remove_dir_all(entry.path())?;
        } else if !texts.contains_key(&path) {
            std::fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}
