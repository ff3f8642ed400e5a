//! What a call does to files, one step a file: what a person is shown of it, why it has its risk, and what each file
//! becomes.

use std::mem::discriminant;

use crate::tools::change_journal::FileState;
use crate::tools::file_change::{FileTarget, NewContent};
use crate::tools::file_version::{ABSENT, FileVersion, NO_FILE, RESTORABLE, unified};
use crate::tools::guard::{Guard, GuardedPath};
use crate::tools::risk::{self, RiskReason};

/// Permission bits of a new file, before the umask.
const NEW_FILE: u32 = 0o666;

/// What a call does to one file.
pub enum FileStep {
    /// Makes it, or gives it another content.
    Write {
        /// Which.
        path: GuardedPath,
        /// What it holds; none = it is new.
        before: Option<FileVersion>,
        /// What it becomes.
        text: String,
    },
    /// Takes it away.
    Delete {
        /// Which.
        path: GuardedPath,
        /// What it holds.
        before: FileVersion,
    },
    /// Gives it another place.
    Move {
        /// Where it is.
        from: GuardedPath,
        /// Where it goes.
        to: GuardedPath,
        /// What it holds.
        before: FileVersion,
        /// What lies there; it goes.
        replaced: Option<FileVersion>,
        /// Its new content; none = it stays.
        text: Option<String>,
    },
}

impl FileStep {
    /// The files that it touches.
    pub fn paths(&self) -> Vec<&GuardedPath> {
        match self {
            Self::Write { path, .. } | Self::Delete { path, .. } => vec![path],
            Self::Move { from, to, .. } => vec![from, to],
        }
    }

    /// Each file with what it holds.
    fn files(&self) -> Vec<(&GuardedPath, Option<&FileVersion>)> {
        match self {
            Self::Write { path, before, .. } => vec![(path, before.as_ref())],
            Self::Delete { path, before } => vec![(path, Some(before))],
            Self::Move {
                from,
                to,
                before,
                replaced,
                ..
            } => vec![(from, Some(before)), (to, replaced.as_ref())],
        }
    }

    /// What is lost with it, unless it can be brought back.
    fn lost(&self) -> Option<&FileVersion> {
        match self {
            Self::Write { before, .. } => before.as_ref(),
            Self::Delete { before, .. } => Some(before),
            Self::Move {
                before,
                replaced,
                text,
                ..
            } => replaced.as_ref().or(text.as_ref().map(|_| before)),
        }
    }

    fn reason(&self) -> RiskReason {
        match self {
            Self::Write { before: None, .. } => RiskReason::CreatesFile,
            Self::Write {
                before: Some(before),
                ..
            } => RiskReason::Edits(before.size),
            Self::Delete { before, .. } => RiskReason::Deletes(before.size),
            Self::Move { .. } => RiskReason::MovesFile,
        }
    }

    /// What a person is shown of it.
    pub fn difference(&self) -> String {
        match self {
            Self::Write { path, before, text } => {
                let name = path.relative();
                let (from, old) = match before {
                    Some(before) => (format!("a/{name}"), before.text().unwrap_or_default()),
                    None => (NO_FILE.to_owned(), ""),
                };
                unified(old, text, &from, &format!("b/{name}"))
            }
            Self::Delete { path, before } => removal(&path.relative(), before),
            Self::Move {
                from,
                to,
                before,
                replaced,
                text,
            } => {
                let (from, to) = (from.relative(), to.relative());
                let mut shown = format!("rename from {from}\nrename to {to}\n");
                if let Some(replaced) = replaced {
                    shown.push_str(&removal(&to, replaced));
                }
                if let Some(text) = text {
                    let old = before.text().unwrap_or_default();
                    shown.push_str(&unified(
                        old,
                        text,
                        &format!("a/{from}"),
                        &format!("b/{to}"),
                    ));
                }
                shown
            }
        }
    }

    /// What became of it, for the model.
    pub fn said(&self) -> String {
        match self {
            Self::Write {
                path, before: None, ..
            } => format!("created `{}`", path.relative()),
            Self::Write { path, .. } => format!("changed `{}`", path.relative()),
            Self::Delete { path, .. } => format!("deleted `{}`", path.relative()),
            Self::Move { from, to, text, .. } => {
                let changed = if text.is_some() {
                    " and changed it"
                } else {
                    ""
                };
                format!(
                    "moved `{}` to `{}`{changed}",
                    from.relative(),
                    to.relative()
                )
            }
        }
    }

    /// The files as they become. The error is for the model.
    pub fn into_targets(self, guard: &Guard) -> Result<Vec<FileTarget>, String> {
        let written = |text: String, before: Option<&FileVersion>| {
            Some(NewContent::Bytes {
                bytes: text.into_bytes(),
                mode: before.map_or(NEW_FILE, |before| before.mode),
            })
        };
        Ok(match self {
            Self::Write { path, before, text } => vec![FileTarget {
                path,
                after: written(text, before.as_ref()),
                before,
            }],
            Self::Delete { path, before } => vec![FileTarget {
                path,
                before: Some(before),
                after: None,
            }],
            Self::Move {
                from,
                to,
                before,
                replaced,
                text,
            } => {
                let after = if let Some(text) = text {
                    written(text, Some(&before))
                } else {
                    let (directory, name) = guard.open_parent(&from).map_err(|error| {
                        format!("`{}` cannot be read: {error}", from.relative())
                    })?;
                    Some(NewContent::File {
                        directory,
                        name: name.to_owned(),
                        state: FileState::from(&before),
                    })
                };
                let source = FileTarget {
                    path: from,
                    before: Some(before),
                    after: None,
                };
                let target = FileTarget {
                    path: to,
                    before: replaced,
                    after,
                };
                vec![target, source]
            }
        })
    }
}

/// The difference that takes a file away.
fn removal(name: &str, version: &FileVersion) -> String {
    match version.text() {
        Some(text) => unified(text, "", &format!("a/{name}"), NO_FILE),
        None => format!("--- a/{name}\n+++ {NO_FILE}\n({})\n", unshown(version)),
    }
}

fn unshown(version: &FileVersion) -> String {
    let what = if version.bytes.is_some() {
        "binary"
    } else {
        "large"
    };
    format!(
        "a {what} file of {} bytes, which is not shown, sha256 {}",
        version.size, version.digest
    )
}

/// The files that the plan depends on, with what they hold.
pub fn operands(steps: &[FileStep]) -> Vec<(String, String)> {
    let mut operands = Vec::new();
    for step in steps {
        for (path, version) in step.files() {
            let digest = version.map_or_else(|| ABSENT.to_owned(), |one| one.digest.clone());
            operands.push((path.relative(), digest));
        }
        // Whoever allowed it was told so: without it the call is another one.
        if step.lost().is_some_and(|lost| lost.restorable.is_ok())
            && let Some(path) = step.paths().last()
        {
            operands.push((path.relative(), RESTORABLE.to_owned()));
        }
    }
    operands
}

/// Why a call of these steps has its risk.
pub fn reasons(steps: &[FileStep]) -> Vec<RiskReason> {
    let mut reasons = Vec::new();
    for step in steps {
        let reason = step.reason();
        let kind = discriminant(&reason);
        let same = reasons.iter_mut().find(|one| discriminant(*one) == kind);
        match (reason, same) {
            (RiskReason::Edits(bytes), Some(RiskReason::Edits(all)))
            | (RiskReason::Deletes(bytes), Some(RiskReason::Deletes(all))) => *all += bytes,
            (reason, None) => reasons.push(reason),
            (_, Some(_)) => {}
        }
        if let (FileStep::Move { .. }, Some(lost)) = (step, step.lost()) {
            risk::add(&mut reasons, RiskReason::Overwrites(lost.size));
        }
    }
    let mut restorable = false;
    for lost in steps.iter().filter_map(FileStep::lost) {
        match lost.restorable {
            Ok(()) => restorable = true,
            Err(why) => risk::add(&mut reasons, RiskReason::Irreversible(why)),
        }
    }
    let lost = reasons
        .iter()
        .any(|reason| matches!(reason, RiskReason::Irreversible(_)));
    if restorable && !lost {
        reasons.push(RiskReason::Reversible);
    }
    reasons
}
