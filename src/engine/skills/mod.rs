//! Instructions of workspaces and skills: what of them prompts hold, and how the files stand to what is trusted.
//!
//! Nothing that lies in a file reaches a model before an operator trusts it: prompts and agents get what the database
//! keeps of it.

pub mod files;
pub mod state;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use similar::TextDiff;

use crate::config::settings::{ChannelSettings, Settings};
use crate::engine::caller::Caller;
use crate::engine::core::Engine;
use crate::engine::skills::files::SkillTexts;
use crate::engine::skills::state::{TrustedTexts, offers};
use crate::protocol::enums::{SkillKind, SkillState};
use crate::protocol::problem::{Problem, ProblemKind};
use crate::protocol::skill::{Skill, SkillReview};
use crate::protocol::snapshot::Page;
use crate::store::commands::trust_skill::{DistrustSkill, TrustSkill};
use crate::store::queries::skills::{TrustedFile, TrustedSkill};
use crate::tools::guard::Guard;
use crate::tools::skill_folder::{
    INSTRUCTIONS, SKILL, SkillFolder, find_skills, read_instructions, read_skill,
};

/// What stands before the channel in the name of instructions.
const INSTRUCTIONS_OF: &str = "instructions:";
/// Longest difference that an answer has, in bytes.
const MAX_DIFF: usize = 512 * 1024;

/// Reads what is trusted from the database.
pub async fn load(engine: &Engine) -> Result<(), Problem> {
    let _only = engine.skills.refresh.lock().await;
    let (instructions, folders) = {
        let settings = &engine.settings.skills;
        (settings.instructions, !settings.folders.is_empty())
    };
    let (texts, files) = engine
        .read(move |rows| {
            let mut texts = TrustedTexts::default();
            let mut files = BTreeMap::new();
            for skill in rows.trusted_skills()? {
                match (skill.kind, skill.channel) {
                    (SkillKind::Instructions, Some(channel)) if instructions => {
                        let files = rows.trusted_files(&skill.name)?;
                        let text = files.into_iter().find_map(|file| file.text);
                        texts.instructions.extend(text.map(|text| (channel, text)));
                    }
                    (SkillKind::Skill, _) if folders => {
                        files.insert(skill.name.clone(), rows.trusted_files(&skill.name)?);
                        texts.skills.insert(skill.name, skill.description);
                    }
                    (SkillKind::Instructions | SkillKind::Skill, _) => {}
                }
            }
            Ok((texts, files))
        })
        .await?;
    engine.skills.set(texts);
    let settings = Arc::clone(&engine.settings);
    let written = tokio::task::spawn_blocking(move || write_files(&settings, &files)).await;
    match written {
        Ok(Ok(())) => Ok(()),
        // Agents have the texts all the same.
        Ok(Err(error)) => {
            tracing::error!(%error, "cannot write the files of skills for programs of agents");
            Ok(())
        }
        Err(error) => Err(Problem::internal(format!(
            "the files of skills cannot be written: {error}"
        ))),
    }
}

/// Writes the files of skills where programs of each channel see them.
fn write_files(
    settings: &Settings,
    files: &BTreeMap<String, Vec<TrustedFile>>,
) -> std::io::Result<()> {
    for (name, channel) in &settings.channels {
        let mut texts = SkillTexts::new();
        for (skill, files) in files.iter().filter(|(skill, _)| offers(channel, skill)) {
            for file in files {
                let place = PathBuf::from(skill).join(&file.path);
                texts.extend(file.text.clone().map(|text| (place, text)));
            }
        }
        files::write(&settings.skill_directory(name), &texts)?;
    }
    Ok(())
}

/// What lies in files under a name.
struct FoundSkill {
    name: String,
    kind: SkillKind,
    channel: Option<String>,
    path: PathBuf,
    read: Result<SkillFolder, String>,
}

/// Reads every file. Slow.
fn scan(settings: &Settings, hidden: impl Fn(&ChannelSettings) -> Guard) -> Vec<FoundSkill> {
    let mut found = Vec::new();
    if settings.skills.instructions {
        for (name, channel) in &settings.channels {
            let read = read_instructions(&hidden(channel)).transpose();
            found.extend(read.map(|read| FoundSkill {
                name: format!("{INSTRUCTIONS_OF}{name}"),
                kind: SkillKind::Instructions,
                channel: Some(name.clone()),
                path: channel.workspace.join(INSTRUCTIONS),
                read,
            }));
        }
    }
    let mut taken: BTreeMap<String, PathBuf> = BTreeMap::new();
    for folder in &settings.skills.folders {
        let paths = match find_skills(folder) {
            Ok(paths) => paths,
            Err(why) => {
                found.push(FoundSkill {
                    name: folder.display().to_string(),
                    kind: SkillKind::Skill,
                    channel: None,
                    path: folder.clone(),
                    read: Err(format!("the folder cannot be read: {why}")),
                });
                continue;
            }
        };
        for path in paths {
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            let read = match taken.get(&name) {
                Some(other) => Err(format!("{} has this name too", other.display())),
                None => read_skill(&path),
            };
            // Only one of them has the name; the other is known by its path.
            let name = match taken.insert(name.clone(), path.clone()) {
                Some(first) => {
                    taken.insert(name, first);
                    path.display().to_string()
                }
                None => name,
            };
            found.push(FoundSkill {
                name,
                kind: SkillKind::Skill,
                channel: None,
                path,
                read,
            });
        }
    }
    found
}

async fn scanned(engine: &Engine) -> Result<Vec<FoundSkill>, Problem> {
    let engine = engine.clone();
    let task = tokio::task::spawn_blocking(move || {
        scan(&engine.settings, |channel| {
            let workspace = &channel.workspace;
            Guard::of(workspace.clone(), engine.hidden_directories(workspace))
        })
    });
    task.await
        .map_err(|error| Problem::internal(format!("cannot read the skills: {error}")))
}

fn skill(found: Option<&FoundSkill>, trusted: Option<&TrustedSkill>) -> Option<Skill> {
    let read = found.and_then(|found| found.read.as_ref().ok());
    let state = match (found.map(|found| &found.read), trusted) {
        (None, None) => return None,
        (None, Some(_)) => SkillState::Missing,
        (Some(Err(_)), _) => SkillState::Invalid,
        (Some(Ok(_)), None) => SkillState::New,
        (Some(Ok(read)), Some(trusted)) if read.sha256 == trusted.sha256 => SkillState::Trusted,
        (Some(Ok(_)), Some(_)) => SkillState::Changed,
    };
    let own = read.map(|read| read.description.clone());
    Some(Skill {
        name: found.map_or_else(
            || trusted.map(|one| one.name.clone()).unwrap_or_default(),
            |one| one.name.clone(),
        ),
        kind: found.map(|one| one.kind).or(trusted.map(|one| one.kind))?,
        state,
        channel: found.map_or_else(
            || trusted.and_then(|one| one.channel.clone()),
            |one| one.channel.clone(),
        ),
        description: own
            .or(trusted.map(|one| one.description.clone()))
            .unwrap_or_default(),
        path: found.map(|one| one.path.display().to_string()),
        problem: found.and_then(|one| one.read.as_ref().err().cloned()),
        files: read.map_or(0, |read| read.files.len() as u64),
        bytes: read.map_or(0, |read| read.bytes),
        sha256: read.map(|read| read.sha256.clone()),
        trusted_sha256: trusted.map(|one| one.sha256.clone()),
        trusted_at: trusted.map(|one| one.trusted_at),
        trusted_by: trusted.map(|one| one.by.clone()),
    })
}

fn redacted(engine: &Engine, mut skill: Skill) -> Skill {
    let texts = [
        Some(&mut skill.description),
        skill.path.as_mut(),
        skill.problem.as_mut(),
    ];
    for text in texts.into_iter().flatten() {
        *text = engine.redactor.redact(text).into_owned();
    }
    skill
}

/// Instructions and skills, in files and trusted: instructions first, then by name.
pub async fn list(engine: &Engine) -> Result<Page<Skill>, Problem> {
    let trusted = engine.read(|rows| rows.trusted_skills()).await?;
    let found = scanned(engine).await?;
    let names: BTreeSet<(bool, &str)> = (found.iter().map(|one| (one.kind, &one.name)))
        .chain(trusted.iter().map(|one| (one.kind, &one.name)))
        .map(|(kind, name)| (kind == SkillKind::Skill, name.as_str()))
        .collect();
    let items = names.into_iter().filter_map(|(_, name)| {
        let found = found.iter().find(|one| one.name == name);
        skill(found, trusted.iter().find(|one| one.name == name))
    });
    let items: Vec<Skill> = items.map(|item| redacted(engine, item)).collect();
    Ok(Page::from(items))
}

/// What lies in files under a name, and what is trusted of it.
async fn both(
    engine: &Engine,
    name: &str,
) -> Result<(Option<FoundSkill>, Option<TrustedSkill>, Vec<TrustedFile>), Problem> {
    let asked = name.to_owned();
    let (trusted, files) = engine
        .read(move |rows| {
            let trusted = rows
                .trusted_skills()?
                .into_iter()
                .find(|one| one.name == asked);
            Ok((trusted, rows.trusted_files(&asked)?))
        })
        .await?;
    let found = scanned(engine)
        .await?
        .into_iter()
        .find(|one| one.name == name);
    Ok((found, trusted, files))
}

fn not_found(name: &str) -> Problem {
    Problem::not_found("skill", name).hint("`leverframe skills list` names them")
}

/// One, with what a person reads before trusting it.
pub async fn review(engine: &Engine, name: String) -> Result<SkillReview, Problem> {
    let name = name.as_str();
    let (found, trusted, files) = both(engine, name).await?;
    let one = skill(found.as_ref(), trusted.as_ref()).ok_or_else(|| not_found(name))?;
    let now: &[_] = match found.as_ref().map(|found| &found.read) {
        Some(Ok(read)) => &read.files,
        Some(Err(_)) | None => &[],
    };
    let paths: BTreeSet<&str> = (now.iter().map(|file| file.path.as_str()))
        .chain(files.iter().map(|file| file.path.as_str()))
        .collect();
    let (mut diff, mut binary) = (String::new(), Vec::new());
    for path in paths {
        let before = files.iter().find(|file| file.path == path);
        let after = now.iter().find(|file| file.path == path);
        if before.map(|file| &file.sha256) == after.map(|file| &file.sha256) {
            continue;
        }
        let text = |text: Option<&Option<String>>| match text {
            None => Some(String::new()),
            // As it was kept: secrets are no difference.
            Some(text) => text
                .as_ref()
                .map(|text| engine.redactor.redact(text).into_owned()),
        };
        let texts = (
            text(before.map(|file| &file.text)),
            text(after.map(|file| &file.text)),
        );
        let (Some(old), Some(new)) = texts else {
            binary.push(engine.redactor.redact(path).into_owned());
            continue;
        };
        let name = engine.redactor.redact(path);
        let _ = write!(
            diff,
            "{}",
            TextDiff::from_lines(&old, &new)
                .unified_diff()
                .header(&name, &name)
        );
    }
    let whole = diff.len();
    if whole > MAX_DIFF {
        diff.truncate(diff.floor_char_boundary(MAX_DIFF));
        let _ = write!(
            diff,
            "\n[… {} of {whole} bytes left out …]\n",
            whole - diff.len()
        );
    }
    Ok(SkillReview {
        skill: redacted(engine, one),
        diff,
        binary,
    })
}

/// Agents get it as it lies in the files now. The digest says what the person has read.
pub async fn trust(
    engine: &Engine,
    caller: &Caller,
    name: String,
    sha256: String,
) -> Result<Skill, Problem> {
    let name = name.as_str();
    let (found, trusted, _) = both(engine, name).await?;
    let refuse = |kind, why: String| Problem::new(kind, "not trusted", why);
    let Some(found) = found else {
        return Err(match trusted {
            Some(_) => refuse(ProblemKind::Conflict, "its files are gone".to_owned()),
            None => not_found(name),
        });
    };
    let read = match &found.read {
        Ok(read) => read,
        Err(why) => return Err(refuse(ProblemKind::Invalid, why.clone())),
    };
    if read.sha256 != sha256.trim().to_ascii_lowercase() {
        let why = format!(
            "its files have the digest {} now, not the one you read",
            read.sha256
        );
        let problem = refuse(ProblemKind::Conflict, why);
        return Err(problem.hint(format!("read it again: `leverframe skills show {name}`")));
    }
    let clean = |text: &str| engine.redactor.redact(text).into_owned();
    let files = read.files.iter().map(|file| TrustedFile {
        path: file.path.clone(),
        sha256: file.sha256.clone(),
        text: file.text.as_deref().map(clean),
    });
    let order = TrustSkill {
        name: found.name.clone(),
        kind: found.kind,
        channel: found.channel.clone(),
        description: clean(&read.description),
        sha256: read.sha256.clone(),
        files: files.collect(),
        by: caller.reference(),
    };
    let trusted = engine.write(order).await?;
    load(engine).await?;
    let one = skill(Some(&found), Some(&trusted)).ok_or_else(|| not_found(name))?;
    Ok(redacted(engine, one))
}

/// Agents get it no longer.
pub async fn distrust(engine: &Engine, caller: &Caller, name: String) -> Result<Skill, Problem> {
    let name = name.as_str();
    let (found, trusted, _) = both(engine, name).await?;
    let order = DistrustSkill {
        name: name.to_owned(),
        by: caller.reference(),
    };
    engine.write(order).await?;
    load(engine).await?;
    // Of what is in no file nothing is left to tell.
    let mut one = skill(found.as_ref(), None)
        .or_else(|| skill(None, trusted.as_ref()))
        .ok_or_else(|| not_found(name))?;
    (one.trusted_sha256, one.trusted_at, one.trusted_by) = (None, None, None);
    Ok(redacted(engine, one))
}

/// What the agent of a channel reads of a skill; else why not, for the model.
pub async fn read(
    engine: &Engine,
    channel: &str,
    name: &str,
    file: Option<&str>,
) -> Result<String, String> {
    let settings = engine
        .channel(channel)
        .map_err(|problem| problem.to_string())?;
    let trusted = engine.skills.trusted();
    let offered = || {
        let names = trusted.skills.keys().filter(|name| offers(settings, name));
        names.map(String::as_str).collect::<Vec<_>>().join(", ")
    };
    if !trusted.skills.contains_key(name) || !offers(settings, name) {
        return Err(match offered() {
            none if none.is_empty() => "there are no skills here".to_owned(),
            names => format!("there is no skill `{name}` here: {names}"),
        });
    }
    let asked = name.to_owned();
    let files = engine.store.read(move |rows| rows.trusted_files(&asked));
    let files = files
        .await
        .map_err(|error| format!("`{name}` cannot be read: {error}"))?;
    let path = file.map_or(SKILL, |path| path.strip_prefix("./").unwrap_or(path));
    let seen = engine.sandbox.skills_of(&settings.workspace);
    let seen = seen.map_or_else(String::new, |place| {
        format!("; programs see them in {}", place.join(name).display())
    });
    let text = files.iter().find(|one| one.path == path);
    let others = files.iter().filter(|one| one.path != path);
    let others: Vec<&str> = others.map(|one| one.path.as_str()).collect();
    match text {
        None => Err(format!(
            "the skill `{name}` has no file `{path}`: {}",
            others.join(", ")
        )),
        Some(TrustedFile { text: None, .. }) => Err(format!("`{path}` is no text")),
        Some(TrustedFile {
            text: Some(text), ..
        }) if others.is_empty() => Ok(text.clone()),
        Some(TrustedFile {
            text: Some(text), ..
        }) => Ok(format!(
            "{text}\n\n(Other files of this skill, to load with `file`: {}{seen})",
            others.join(", ")
        )),
    }
}
