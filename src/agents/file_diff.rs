//! What a call of an agent would change in files, as a unified diff.
//!
//! The diff follows from the arguments. A file that lies here and is small is looked at, so that the diff shows what is
//! around the change; nothing depends on whether it is there.

use crate::tools::file_version::{FileVersion, NO_FILE, unified};
use crate::tools::patch::{FilePatch, Hunk, apply};
use crate::tools::text_edits::{Edit, edited};

/// What is known of a file before a call.
#[derive(Debug)]
pub enum Before {
    /// It is not there.
    Missing,
    /// It is, and this is what it holds.
    There(FileVersion),
    /// Nobody here can look at it.
    Unseen,
}

impl Before {
    /// What it holds, if that is known and is text.
    fn text(&self) -> Option<&str> {
        match self {
            Self::Missing | Self::Unseen => None,
            Self::There(version) => version.text(),
        }
    }
}

/// The diff of a call that writes a whole file.
pub fn of_write(name: &str, content: &str, before: &Before) -> String {
    let (from, to) = (format!("a/{name}"), format!("b/{name}"));
    match (before, before.text()) {
        (Before::Missing, _) => unified("", content, NO_FILE, &to),
        (_, Some(old)) => unified(old, content, &from, &to),
        (_, None) => format!(
            "replaces all of the file; what it holds now is not shown\n{}",
            unified("", content, &from, &to)
        ),
    }
}

/// The diff of a call that replaces parts of a file, one after the other.
pub fn of_edits(name: &str, edits: &[Edit<'_>], before: &Before) -> String {
    if let [Edit { old: "", new, .. }] = edits {
        return of_write(name, new, before);
    }
    let (from, to) = (format!("a/{name}"), format!("b/{name}"));
    let old = before.text();
    let new = old.map(|old| {
        edits.iter().try_fold(old.to_owned(), |text, edit| {
            // An empty part would be found everywhere.
            (!edit.old.is_empty()).then(|| edited(&text, &[*edit]).ok())?
        })
    });
    let note = match (old, new) {
        (Some(old), Some(Some(new))) => return unified(old, &new, &from, &to),
        (Some(_), _) => "the file as it is now does not hold these parts\n",
        (None, _) => "",
    };
    let parts = edits
        .iter()
        .map(|edit| unified(edit.old, edit.new, &from, &to));
    format!("{note}{}", parts.collect::<String>())
}

/// The diff of one section of a patch.
pub fn of_patch(file: &FilePatch<'_>, before: &Before) -> String {
    match file {
        FilePatch::Add { path, text } => unified("", text, NO_FILE, &format!("b/{path}")),
        FilePatch::Delete { path } => match before.text() {
            Some(old) => unified(old, "", &format!("a/{path}"), NO_FILE),
            None => format!("--- a/{path}\n+++ {NO_FILE}\n"),
        },
        FilePatch::Update { path, to, hunks } => {
            let (from, to) = (format!("a/{path}"), format!("b/{}", to.unwrap_or(path)));
            let new = before
                .text()
                .and_then(|old| Some((old, apply(old, hunks).ok()?)));
            match new {
                Some((old, new)) => unified(old, &new, &from, &to),
                None => {
                    let part = |hunk: &Hunk<'_>| {
                        let (old, new) = hunk.sides();
                        unified(&old, &new, &from, &to)
                    };
                    hunks.iter().map(part).collect()
                }
            }
        }
    }
}
