//! Skills and instructions as they lie in files, read whole, within bounds, with one digest over all of it.
//!
//! Follows no link, runs nothing and writes nothing.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;
use yaml_rust2::parser::{Event, EventReceiver, Parser};

use crate::protocol::hex::hex;
use crate::tools::guard::{Guard, open_regular};
use crate::tools::walk::{End, Entry, EntryKind, Limits, Step, walk};

/// The file of instructions in a workspace.
pub const INSTRUCTIONS: &str = "AGENTS.md";
/// The file that makes a folder a skill.
pub const SKILL: &str = "SKILL.md";
/// Most bytes of instructions: they are a part of every prompt.
const MAX_INSTRUCTIONS: u64 = 32 * 1024;
/// Most bytes of a file of a skill.
const MAX_FILE: u64 = 256 * 1024;
/// Most bytes of all files of a skill.
const MAX_BYTES: u64 = 1024 * 1024;
/// Most files of a skill.
const MAX_FILES: usize = 200;
/// Levels of folders in a skill.
const MAX_DEPTH: usize = 5;
/// Most bytes of the head of a SKILL.md.
const MAX_HEAD: usize = 8 * 1024;
/// Longest name and description, as the format of Agent Skills has them (agentskills.io/specification).
const MAX_NAME: usize = 64;
const MAX_DESCRIPTION: usize = 1024;
/// Longest time that one skill is read.
const READ_TIME: Duration = Duration::from_secs(5);
/// Most skills of one folder.
const MAX_SKILLS: usize = 500;

/// A file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillFile {
    /// Path below the folder.
    pub path: String,
    /// Lower-case hex SHA-256 of its bytes.
    pub sha256: String,
    /// What it says; none = it is no UTF-8 text.
    pub text: Option<String>,
}

/// Instructions or a skill, read whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillFolder {
    /// Its name in its own words; empty for instructions.
    pub name: String,
    /// What it is for, in its own words; empty for instructions.
    pub description: String,
    /// Lower-case hex SHA-256 over paths and digests of the files.
    pub sha256: String,
    /// Bytes of all files.
    pub bytes: u64,
    /// The files, by path.
    pub files: Vec<SkillFile>,
}

impl SkillFolder {
    fn new(name: String, description: String, bytes: u64, mut files: Vec<SkillFile>) -> Self {
        files.sort_by(|one, other| one.path.cmp(&other.path));
        let mut hash = Sha256::new();
        for file in &files {
            hash.update(format!("{}\0{}\n", file.path, file.sha256));
        }
        Self {
            name,
            description,
            sha256: hex(&hash.finalize()),
            bytes,
            files,
        }
    }
}

fn file(path: String, bytes: Vec<u8>) -> SkillFile {
    SkillFile {
        path,
        sha256: hex(&Sha256::digest(&bytes)),
        text: String::from_utf8(bytes)
            .ok()
            .filter(|text| !text.contains('\0')),
    }
}

/// The instructions of a workspace; none = it has none. The error says why they cannot be used.
pub fn read_instructions(workspace: &Guard) -> Result<Option<SkillFolder>, String> {
    let path = workspace.workspace().join(INSTRUCTIONS);
    if path.symlink_metadata().is_err() {
        return Ok(None);
    }
    let guarded = workspace
        .file(INSTRUCTIONS)
        .map_err(|error| error.to_string())?;
    let opened = workspace
        .open_file(&guarded)
        .map_err(|error| error.to_string())?;
    let bytes = read(opened, MAX_INSTRUCTIONS)?;
    let length = bytes.len() as u64;
    let file = file(INSTRUCTIONS.to_owned(), bytes);
    if file.text.is_none() {
        return Err("it is not UTF-8 text".to_owned());
    }
    let (name, description) = (String::new(), String::new());
    Ok(Some(SkillFolder::new(
        name,
        description,
        length,
        vec![file],
    )))
}

/// The folders of skills in a folder: itself, or those directly in it, by name.
pub fn find_skills(folder: &Path) -> Result<Vec<PathBuf>, String> {
    if folder.join(SKILL).symlink_metadata().is_ok() {
        return Ok(vec![folder.to_owned()]);
    }
    let entries = std::fs::read_dir(folder).map_err(|error| error.to_string())?;
    let mut found: Vec<PathBuf> = entries
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .filter(|path| path.join(SKILL).symlink_metadata().is_ok())
        .take(MAX_SKILLS)
        .collect();
    found.sort();
    Ok(found)
}

/// Reads a skill. The error says why it cannot be used.
pub fn read_skill(folder: &Path) -> Result<SkillFolder, String> {
    let folder = folder.canonicalize().map_err(|error| error.to_string())?;
    let guard = Guard::of(folder.clone(), Vec::new());
    let start = guard.directory(".").map_err(|error| error.to_string())?;
    let limits = Limits {
        depth: MAX_DEPTH,
        entries: MAX_FILES * 4,
        time: READ_TIME,
        cancel: CancellationToken::new(),
    };
    let (mut files, mut bytes) = (Vec::new(), 0);
    let mut problem = None;
    let ended = walk(&guard, &start, &limits, &mut |entry| {
        match entry.kind {
            EntryKind::Directory if entry.name.as_encoded_bytes().starts_with(b".") => {
                return Step::Skip;
            }
            EntryKind::Directory => return Step::Next,
            EntryKind::File | EntryKind::Link | EntryKind::Other => {}
        }
        match read_entry(entry) {
            Ok(read) => {
                bytes += entry.size;
                files.push(read);
            }
            Err(why) => problem = Some(format!("{}: {why}", entry.below.display())),
        }
        if problem.is_none() && files.len() > MAX_FILES {
            problem = Some(format!("it has more than {MAX_FILES} files"));
        } else if problem.is_none() && bytes > MAX_BYTES {
            problem = Some(format!("it has more than {} KiB", MAX_BYTES / 1024));
        }
        if problem.is_some() {
            Step::Stop
        } else {
            Step::Next
        }
    });
    let ended = ended.map_err(|error| error.to_string())?;
    if let Some(problem) = problem {
        return Err(problem);
    }
    match ended {
        End::Complete => {}
        End::Stopped | End::TooMany | End::TimedOut | End::Cancelled => {
            return Err("it has too many files and folders".to_owned());
        }
    }
    let text = files
        .iter()
        .find(|file| file.path == SKILL)
        .and_then(|file| file.text.as_deref())
        .ok_or_else(|| format!("{SKILL} is not UTF-8 text"))?;
    let head = head(text)?;
    let name = folder.file_name().and_then(|name| name.to_str());
    if name != Some(head.name.as_str()) {
        return Err(format!(
            "{SKILL} says `name: {}`: the folder must have the same name",
            head.name
        ));
    }
    Ok(SkillFolder::new(head.name, head.description, bytes, files))
}

fn read_entry(entry: &Entry<'_>) -> Result<SkillFile, String> {
    match entry.kind {
        EntryKind::File => {}
        EntryKind::Link => return Err("it is a link; links are not followed".to_owned()),
        EntryKind::Directory | EntryKind::Other => return Err("it is no file".to_owned()),
    }
    let path = entry.below.to_str().ok_or("its name is not UTF-8")?;
    let opened = open_regular(entry.parent, entry.name).map_err(|error| error.to_string())?;
    Ok(file(path.to_owned(), read(opened, MAX_FILE)?))
}

fn read(file: std::fs::File, most: u64) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let read = file.take(most + 1).read_to_end(&mut bytes);
    read.map_err(|error| error.to_string())?;
    if bytes.len() as u64 > most {
        return Err(format!("it has more than {} KiB", most / 1024));
    }
    Ok(bytes)
}

/// What the head of a SKILL.md says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// Its name.
    pub name: String,
    /// When to use it.
    pub description: String,
}

/// Reads the head of a SKILL.md: YAML between two lines of `---`.
pub fn head(text: &str) -> Result<Head, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let rest = text
        .strip_prefix("---")
        .and_then(|rest| {
            rest.strip_prefix("\r\n")
                .or_else(|| rest.strip_prefix('\n'))
        })
        .ok_or_else(|| format!("{SKILL} does not begin with a line `---`"))?;
    let mut end = None;
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            end = Some(at);
            break;
        }
        at += line.len();
    }
    let yaml = end
        .and_then(|end| rest.get(..end))
        .ok_or_else(|| format!("{SKILL} has no second line `---` behind its head"))?;
    if yaml.len() > MAX_HEAD {
        return Err(format!(
            "the head of {SKILL} has more than {} KiB",
            MAX_HEAD / 1024
        ));
    }
    let mut fields = TopFields::default();
    let parsed = Parser::new_from_str(yaml).load(&mut fields, false);
    parsed.map_err(|error| format!("the head of {SKILL} is no YAML: {error}"))?;
    let mut take = |key: &str| {
        let value = fields
            .found
            .remove(key)
            .map(|value| value.trim().to_owned());
        let value = value.filter(|value| !value.is_empty());
        value.ok_or_else(|| format!("the head of {SKILL} has no `{key}`"))
    };
    let (name, description) = (take("name")?, take("description")?);
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.len() > MAX_NAME || !name.chars().all(is_plain) {
        return Err(format!(
            "the name has at most {MAX_NAME} characters of a to z, 0 to 9 and `-`"
        ));
    }
    if description.chars().count() > MAX_DESCRIPTION {
        return Err(format!(
            "the description has more than {MAX_DESCRIPTION} characters"
        ));
    }
    Ok(Head { name, description })
}

/// Takes the texts of the outermost mapping. Expands no alias, so a short text never becomes a long one.
#[derive(Debug, Default)]
struct TopFields {
    depth: usize,
    key: Option<String>,
    found: BTreeMap<String, String>,
}

impl EventReceiver for TopFields {
    fn on_event(&mut self, event: Event) {
        match event {
            Event::MappingStart(..) | Event::SequenceStart(..) => self.depth += 1,
            Event::MappingEnd | Event::SequenceEnd => {
                self.depth = self.depth.saturating_sub(1);
                if self.depth == 1 {
                    self.key = None;
                }
            }
            Event::Scalar(text, ..) if self.depth == 1 => match self.key.take() {
                None => self.key = Some(text),
                Some(key) => {
                    self.found.entry(key).or_insert(text);
                }
            },
            Event::Alias(_) if self.depth == 1 => self.key = None,
            Event::Alias(_)
            | Event::Scalar(..)
            | Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart
            | Event::DocumentEnd => {}
        }
    }
}
